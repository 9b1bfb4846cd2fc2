#!/usr/bin/env bash
# All set-up of a development machine, in steps that each do nothing when already done:
#   1. Debian packages of apt-packages.txt (needs root, or sudo);
#   2. uv, at the version of uv.txt, in .tools;
#   3. .venv: Python 3.11, the packages of constraints.txt, this workspace's own distributions;
#   4. compilers of the SDKs' languages that the machine has not (toolchains.txt);
#   5. programs written in Go that tests run (go-tools.txt), in .tools/bin.
# What 4 or 5 cannot install is named, and tests leave it out; with CI=true that is a failure.
# `tools/setup/setup.sh` alone, or `make setup`.
set -euo pipefail
cd "$(dirname "$0")/../.."

here=tools/setup
members=(guest_agent sdk/python/gen sdk/python server broker)

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "not root and no sudo; as root, run: $*"
    fi
}

wanted_packages() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/apt-packages.txt"; }

missing_packages() {
    local installed
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' 2>/dev/null |
        awk '$2 == "installed" {print $1}')
    wanted_packages | grep -vxF -f <(printf '%s\n' "$installed") || true
}

install_packages() {
    command -v dpkg-query >/dev/null ||
        die "this is not Debian: install the counterparts of $here/apt-packages.txt by hand"
    local missing
    mapfile -t missing < <(missing_packages)
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
}

apt_install() {
    say "installing $*"
    as_root apt-get update -q >&2
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@" >&2
}

# $1: stamp file, $2...: what it depends on.  True if the stamp records exactly this content.
is_current() { [ -f "$1" ] && [ "$(cat "$1")" = "$(fingerprint "${@:2}")" ]; }
fingerprint() { sha256sum -- "$@" | sha256sum | cut -d' ' -f1; }

install_uv() {
    is_current .tools/stamp "$here/uv.txt" && [ -x .tools/bin/uv ] && return 0
    say "installing $(cat "$here/uv.txt") into .tools"
    [ -x .tools/bin/pip ] || "$(system_python)" -m venv --clear .tools
    .tools/bin/pip install -q --disable-pip-version-check -r "$here/uv.txt"
    fingerprint "$here/uv.txt" >.tools/stamp
}

system_python() {
    if [ -x /usr/bin/python3.11 ]; then echo /usr/bin/python3.11; else command -v python3; fi
}

# uv does not read pip's settings; on a machine that was set up for pip they must still hold.
borrow_pip_settings() {
    local key value link links=()
    while IFS='=' read -r key value; do
        value=${value#\'} value=${value%\'}
        case "${key##*.}" in
            index-url) export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$value}" ;;
            extra-index-url) export UV_INDEX="${UV_INDEX:-$value}" ;;
            no-index) export UV_NO_INDEX="${UV_NO_INDEX:-$value}" ;;
            cert) export SSL_CERT_FILE="${SSL_CERT_FILE:-$value}" ;;
            find-links)
                for link in $value; do
                    case "$link" in
                        *://*) links+=("$link") ;;
                        *) [ ! -d "$link" ] || links+=("$link") ;;
                    esac
                done ;;
        esac
    done < <(.tools/bin/pip config list 2>/dev/null)
    [ ${#links[@]} -eq 0 ] || export UV_FIND_LINKS="${UV_FIND_LINKS:-$(IFS=,; echo "${links[*]}")}"
}

install_python_packages() {
    local inputs=("$here/setup.sh" "$here/uv.txt" constraints.txt requirements-dev.in) editable=()
    local member
    for member in "${members[@]}"; do
        [ -f "$member/pyproject.toml" ] || continue
        inputs+=("$member/pyproject.toml")
        editable+=(-e "$member")
    done
    is_current .venv/stamp "${inputs[@]}" && [ -x .venv/bin/python ] && return 0
    borrow_pip_settings
    if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
        local python=3.11
        [ ! -x /usr/bin/python3.11 ] || python=/usr/bin/python3.11
        say "creating .venv with Python $python"
        .tools/bin/uv venv -q --clear --python "$python" .venv
    fi
    say "installing the packages of constraints.txt into .venv"
    .tools/bin/uv pip install -q --python .venv/bin/python \
        --constraints constraints.txt --build-constraints constraints.txt \
        -r requirements-dev.in "${editable[@]}"
    fingerprint "${inputs[@]}" >.venv/stamp
}

# $1: what is missing.
left_out() {
    say "$1: not installed; what needs it is left out"
    [ "${CI:-}" != true ] || exit 1
}

install_toolchains() {
    local program source packages
    while read -r program source packages; do
        case "$program" in '' | '#'*) continue ;; esac
        command -v "$program" >/dev/null && continue
        # shellcheck disable=SC2086 # several packages are several words
        case "$source" in
            apt) apt_install $packages || left_out "$program" ;;
            pip)
                say "installing $packages into .tools"
                .tools/bin/pip install -q --disable-pip-version-check $packages ||
                    left_out "$program" ;;
        esac
    done <"$here/toolchains.txt"
}

install_go_tools() {
    local package
    is_current .tools/go-tools.stamp "$here/go-tools.txt" && return 0
    command -v go >/dev/null || { left_out "programs in Go"; return 0; }
    while read -r package; do
        say "building $package into .tools/bin"
        GOBIN="$PWD/.tools/bin" GOFLAGS=-p=2 go install -ldflags='-s -w' "$package" ||
            { left_out "$package"; return 0; }
    done <"$here/go-tools.txt"
    fingerprint "$here/go-tools.txt" >.tools/go-tools.stamp
}

mkdir -p .cache
export PATH="$PATH:$PWD/.tools/bin" # behind the machine's own, as in the Makefile
exec 9>.cache/setup.lock
flock 9 # two targets at once must not install into the same folders
install_packages
install_uv
install_python_packages
install_toolchains
install_go_tools
