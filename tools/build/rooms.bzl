"""A room is a folder of C that is one library. Each says who may see it; an arrow drawn backwards does not build, because
neither the label is visible nor the header declared."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")

# The top package joins all rooms to libheddle.a.
_LOOKS_ANYWHERE = ["//:__pkg__", "//tools:__subpackages__", "//tests:__subpackages__", "//bench:__subpackages__"]

def room(name, deps = [], seen_by = [], made = [], **kwargs):
    """The library of this folder's *.c and *.h, and of sources made by the build. seen_by: rooms that may include it;
    tools, tests and bench always may."""
    cc_library(
        name = name,
        srcs = native.glob(["*.c"], allow_empty = True) + made,
        hdrs = native.glob(["*.h", "*.def", "*.inc"], allow_empty = True),
        deps = deps,
        visibility = ["%s:__subpackages__" % r for r in seen_by] + _LOOKS_ANYWHERE,
        **kwargs
    )

    # The sources as files: for the build's identity, and for tests that read tables.
    native.filegroup(
        name = "files",
        srcs = native.glob(["*.c", "*.h", "*.def", "*.inc"], allow_empty = True),
        visibility = ["//visibility:public"],
    )

def room_tests(deps, data = [], helpers = [], size = "medium", exclude = [], plain = [], tags = [], **kwargs):
    """One GoogleTest program for each *_test.cc of this folder, with the folder's headers. helpers: more that all share;
    plain: the ones that a sanitizer would break."""
    shared = native.glob(["*.h"], allow_empty = True)
    shared += [h for h in helpers if h not in shared]
    for src in native.glob(["*_test.cc"], exclude = exclude, allow_empty = True):
        cc_test(
            name = src[:-len(".cc")],
            srcs = [src] + shared,
            deps = deps + ["@googletest//:gtest_main"],
            data = data,
            size = size,
            tags = tags + (["plain"] if src in plain else []),
            **kwargs
        )

def embedded_kernels(function):
    """This folder's kernels as text in a C file, :embedded, and as files, :kernels. function: its name in C, which takes a
    file's name without .hd."""
    native.genrule(
        name = "embedded",
        srcs = native.glob(["*.hd"]),
        outs = ["embedded.c"],
        cmd = "$(location //tools/build:embed_kernels.sh) %s $(SRCS) >$@" % function,
        tools = ["//tools/build:embed_kernels.sh"],
    )
    native.exports_files(native.glob(["*.hd"]))
    native.filegroup(
        name = "kernels",
        srcs = native.glob(["*.hd"]),
        visibility = ["//tests:__subpackages__"],
    )
