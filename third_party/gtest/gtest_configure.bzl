"""GoogleTest from Debian's sources (package googletest), so that the build's compiler, flags and sanitizer apply to it."""

def _impl(ctx):
    root = ctx.os.environ.get("GTEST_SRC", "/usr/src/googletest/googletest")
    if not ctx.path(root + "/src/gtest-all.cc").exists:
        fail("GoogleTest's sources are missing: %s/src/gtest-all.cc. Debian: apt-get install googletest, or ./dev, which does that; elsewhere set GTEST_SRC" % root)
    ctx.symlink(root + "/include", "include")
    ctx.symlink(root + "/src", "src")
    ctx.file("BUILD.bazel", """\
load("@rules_cc//cc:defs.bzl", "cc_library")
package(default_visibility = ["//visibility:public"])
cc_library(
    name = "gtest",
    srcs = glob(["src/*.cc", "src/*.h"], exclude = ["src/gtest-all.cc", "src/gtest_main.cc"]),
    hdrs = glob(["include/**/*.h"]),
    copts = ["-w"],
    includes = ["include", "."],
    linkopts = ["-lpthread"],
)
cc_library(name = "gtest_main", srcs = ["src/gtest_main.cc"], copts = ["-w"], deps = [":gtest"])
""")

gtest_configure = repository_rule(implementation = _impl, environ = ["GTEST_SRC"], local = True, configure = True)
