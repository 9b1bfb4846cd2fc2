"""Certificates for intercepted hosts, made on demand under the node's intermediate."""

from __future__ import annotations

import datetime as dt
import os
import ssl
from collections import OrderedDict
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(hours=24)
RENEW = dt.timedelta(hours=1)
CLOCK_SLACK = dt.timedelta(minutes=10)
MAX_KEPT = 512


class BadAuthority(Exception):
    """The intermediate cannot be used; the message says which file and why."""


class Minter:
    """Makes server contexts; one key for all leaves of a process, which never touches a disk."""

    def __init__(self, cert_path: str, key_path: str) -> None:
        try:
            with open(key_path, "rb") as file:  # noqa: PTH123 - its descriptor is checked too
                if os.fstat(file.fileno()).st_mode & 0o077:
                    raise BadAuthority(f"{key_path}: others may read it; 0600 is wanted")
                key = serialization.load_pem_private_key(file.read(), None)
            with open(cert_path, "rb") as file:  # noqa: PTH123 - beside the other
                self._chain = file.read()
            self._issuer = x509.load_pem_x509_certificate(self._chain)
        except (OSError, ValueError, TypeError) as error:
            raise BadAuthority(f"{cert_path}, {key_path}: {type(error).__name__}") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise BadAuthority(f"{key_path}: not an elliptic curve key")
        if key.public_key() != self._issuer.public_key():
            raise BadAuthority(f"{key_path}: not the key of {cert_path}")
        self._key = key
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._kept: OrderedDict[tuple[str, bool], tuple[dt.datetime, ssl.SSLContext]]
        self._kept = OrderedDict()

    def context(self, host: str, *, h2: bool) -> ssl.SSLContext:
        """A context that shows a leaf for `host` and refuses handshakes that name another."""
        key = (host, h2)
        now = dt.datetime.now(dt.UTC)
        kept = self._kept.get(key)
        if kept is not None and kept[0] - now > RENEW:
            self._kept.move_to_end(key)
            return kept[1]
        leaf = self._leaf(host, now)
        context = self._server_context(leaf, host, h2)
        self._kept[key] = (leaf.not_valid_after_utc, context)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return context

    def _leaf(self, host: str, now: dt.datetime) -> x509.Certificate:
        try:
            name: x509.GeneralName = x509.IPAddress(ip_address(host))
        except ValueError:
            name = x509.DNSName(host)
        # A common name has 64 characters at most; the alternative name is what counts.
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._issuer.subject)
            .public_key(self._leaf_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(max(now - CLOCK_SLACK, self._issuer.not_valid_before_utc))
            .not_valid_after(min(now + LIFETIME, self._issuer.not_valid_after_utc))
            .add_extension(x509.SubjectAlternativeName([name]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )

    def _server_context(self, leaf: x509.Certificate, host: str, h2: bool) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["h2", "http/1.1"] if h2 else ["http/1.1"])
        pem = self._leaf_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        pem += leaf.public_bytes(serialization.Encoding.PEM) + self._chain
        handle = os.memfd_create("leaf")
        try:
            os.write(handle, pem)
            context.load_cert_chain(f"/proc/self/fd/{handle}")
        finally:
            os.close(handle)

        def agree(_: ssl.SSLObject, named: str | None, __: ssl.SSLContext) -> int | None:
            if named is not None and named.lower().removesuffix(".") != host:
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            return None

        context.sni_callback = agree
        return context
