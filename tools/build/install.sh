#!/bin/sh
# install.sh [PREFIX] -- copies what //:install was built with to PREFIX (/usr/local), and writes the pkg-config file.
# DESTDIR, if set, goes in front of every path that is written, and into none that is recorded.
set -eu
prefix=${1:-/usr/local}
case $prefix in /*) ;; *) echo "install: PREFIX must be an absolute path, got '$prefix'" >&2; exit 1 ;; esac
to=${DESTDIR:-}$prefix
version=$(sed -n 's/^#define HD_VERSION_TEXT "\(.*\)"/\1/p' include/heddle/abi.h)

mkdir -p "$to/bin" "$to/lib/pkgconfig" "$to/include/heddle" "$to/share/doc/heddle"
install -m 755 tools/heddle/heddle "$to/bin/heddle"
install -m 644 libheddle.a "$to/lib/libheddle.a"
install -m 755 libheddle.so "$to/lib/libheddle.so.$version"
ln -sf "libheddle.so.$version" "$to/lib/libheddle.so.0"
ln -sf libheddle.so.0 "$to/lib/libheddle.so"
install -m 644 include/heddle/*.h include/heddle/*.def "$to/include/heddle/"
install -m 644 LICENSE "$to/share/doc/heddle/LICENSE"
# pkg-config takes blanks apart unless they are escaped.
cat >"$to/lib/pkgconfig/heddle.pc" <<END
prefix=$(printf '%s\n' "$prefix" | sed 's/ /\\ /g')
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: heddle
Description: Compiles simulation kernels and runs them
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lheddle
Libs.private: -lm -ldl -lpthread
END
echo "heddle $version is in $to (bin, lib, include/heddle, lib/pkgconfig/heddle.pc)"
