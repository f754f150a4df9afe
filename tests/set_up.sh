#!/bin/sh
# Installs the programs that the tests need, or says how to.
#
#     tests/set_up.sh              install everything that is missing
#     tests/set_up.sh git venv     install these parts only
#     tests/set_up.sh --missing    list what is missing, a part and its package on each line
#
# Without root and without a sudo that asks for no password it only names the command that installs them.
set -eu

# part, and the Debian package that has it
parts='
make        make
git         git
python3     python3
venv        python3-venv
node        nodejs
npm         npm
chromium    chromium
postgres    postgresql
docker      docker.io
busybox     busybox-static
podman      podman
dnsname     golang-github-containernetworking-plugin-dnsname
runc        runc
catatonit   catatonit
xfs         xfsprogs
ip          iproute2
curl        curl
rsync       rsync
zsh         zsh
fish        fish
'
PATH="$PATH:/usr/sbin:/sbin" # where a user's PATH does not lead, but some of these are

is_there() {
    case $1 in
        venv) "${PYTHON:-python3}" -c 'import ensurepip, venv' ;;
        postgres) command -v initdb || ls /usr/lib/postgresql/*/bin/initdb ;;
        docker) command -v dockerd ;;
        dnsname) test -x /usr/lib/cni/dnsname ;;
        xfs) command -v mkfs.xfs ;;
        *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

missing() { # of the parts named, or of all
    echo "$parts" | while read -r part package; do
        case " ${*:-$part} " in
            *" $part "*) [ -z "$part" ] || is_there "$part" || echo "$part $package" ;;
        esac
    done
}

if [ "${1-}" = --missing ]; then
    missing
    exit
fi
packages=$(missing "$@" | cut -d ' ' -f 2 | paste -s -d ' ')
[ -n "$packages" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "missing, by the names of Debian's packages: $packages"
    exit 0
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    if ! sudo -n true 2>/dev/null; then
        echo "missing: $packages"
        echo "install with: sudo apt-get install -y --no-install-recommends $packages"
        exit 0
    fi
fi
echo "installing $packages"
apt_get="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600"
if ! $apt_get update || ! $apt_get install -y --no-install-recommends $packages >/dev/null; then
    echo "could not install: $packages" >&2
fi
