"""`ca`: the two tiers of certificates with which the broker looks into TLS.

The root stays where it was made; a node gets an intermediate that can sign no further one.
Keys are 0600, and nothing is written over without `--force`.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from pathlib import Path

import click
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sandbox_cli import options

ROOT_DAYS = 3650
INTERMEDIATE_DAYS = 365
_CLOCK_SLACK = dt.timedelta(minutes=10)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}\Z")


@click.group()
def ca() -> None:
    """Make the certificates for looking into TLS (docs/egress.md)."""


@ca.command(
    epilog=options.examples(
        "sandbox-cli ca init --dir /etc/sandbox-ca",
        "sandbox-cli ca init --dir /etc/sandbox-ca --name 'staging cluster' --force",
    )
)
@click.option(
    "--dir",
    "folder",
    metavar="PATH",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Gets root.crt and root.key.",
)
@click.option("--name", metavar="TEXT", default="sandbox cluster", help="Shown in the certificate.")
@click.option(
    "--days",
    metavar="N",
    default=ROOT_DAYS,
    type=click.IntRange(1, 36500),
    help="How long it is valid.",
    show_default=True,
)
@click.option("--force", is_flag=True, help="Write over a root that is there.")
@options.output
def init(folder: Path, name: str, days: int, force: bool, output: str) -> None:
    """Make the cluster's root: a certificate for guests to trust, and its key.

    Keep the key off the nodes: only `ca issue-intermediate` needs it.
    """
    if not 1 <= len(name) <= 56:
        raise click.UsageError("--name has 1 to 56 characters")
    cert_path, key_path = folder / "root.crt", folder / "root.key"
    _refuse_to_overwrite(force, cert_path, key_path)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(f"{name} root")
    cert = _sign(subject, key, subject, key, days=days, path_length=1)
    _write(folder, {key_path: _pem(key), cert_path: _shown(cert)})
    _tell(
        output, cert_path, key_path, f"root: {cert_path} (for guests), {key_path} (off the nodes)"
    )


@ca.command(
    name="issue-intermediate",
    epilog=options.examples(
        "sandbox-cli ca issue-intermediate --dir /etc/sandbox-ca --name node-1 --out ./node-1"
    ),
)
@click.option(
    "--dir",
    "folder",
    metavar="PATH",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Where `ca init` put the root.",
)
@click.option("--name", metavar="NODE", required=True, help="The node's name.")
@click.option(
    "--out",
    metavar="PATH",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Gets intermediate.crt (the chain) and intermediate.key.",
)
@click.option(
    "--days",
    metavar="N",
    default=INTERMEDIATE_DAYS,
    type=click.IntRange(1, 3650),
    help="How long it is valid; at most as long as the root.",
    show_default=True,
)
@click.option("--force", is_flag=True, help="Write over an intermediate that is there.")
@options.output
def issue_intermediate(
    *, folder: Path, name: str, out: Path, days: int, force: bool, output: str
) -> None:
    """Make a node's intermediate under the root; copy it to the node for its broker."""
    if not _NAME.match(name):
        raise click.UsageError("--name is 1 to 48 of A-Z a-z 0-9 . _ -")
    cert_path, key_path = out / "intermediate.crt", out / "intermediate.key"
    _refuse_to_overwrite(force, cert_path, key_path)
    root, root_key = _read_root(folder)
    key = ec.generate_private_key(ec.SECP256R1())
    left = (root.not_valid_after_utc - dt.datetime.now(dt.UTC)).days
    if left < 1:
        raise click.ClickException(f"{folder / 'root.crt'} has expired")
    cert = _sign(
        _subject(f"sandbox {name}"), key, root.subject, root_key,
        days=min(days, left), path_length=0,
    )  # fmt: skip
    _write(out, {key_path: _pem(key), cert_path: _shown(cert) + _shown(root)})
    _tell(output, cert_path, key_path, f"intermediate: {cert_path}, {key_path}")


def _tell(output: str, certificate: Path, key: Path, words: str) -> None:
    """What was written, for people or for programs."""
    if output == "json":
        words = json.dumps({"certificate": str(certificate), "key": str(key)})
    click.echo(words)


def _sign(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    days: int,
    path_length: int,
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    unused = (
        *("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
        *("encipher_only", "decipher_only", "digital_signature"),
    )
    usage = dict.fromkeys(unused, False)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SLACK)
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .sign(issuer_key, hashes.SHA256())
    )


def _read_root(folder: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    cert_path, key_path = folder / "root.crt", folder / "root.key"
    try:
        cert = x509.load_pem_x509_certificate(cert_path.read_bytes())
        key = serialization.load_pem_private_key(key_path.read_bytes(), None)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    except (ValueError, TypeError):
        raise click.ClickException(f"{folder}: root.crt or root.key is no PEM") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != cert.public_key():
        raise click.ClickException(f"{key_path} is not the key of {cert_path}")
    return cert, key


def _refuse_to_overwrite(force: bool, *paths: Path) -> None:
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise click.ClickException(f"{' and '.join(there)} already there; --force writes over")


def _write(folder: Path, files: dict[Path, bytes]) -> None:
    """Write each file whole, then put it in its place: a key is 0600 before it has a byte."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for path, data in files.items():
        draft = path.with_name(f".{path.name}.new")
        draft.unlink(missing_ok=True)
        mode = 0o600 if path.suffix == ".key" else 0o644
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _shown(cert: x509.Certificate) -> bytes:
    return cert.public_bytes(serialization.Encoding.PEM)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
