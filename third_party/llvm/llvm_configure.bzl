"""Finds LLVM's C headers, 19 to 22. Only headers: the library itself is opened at run time (backends/llvm)."""

_CANDIDATES = ["llvm-config-22", "llvm-config-21", "llvm-config-20", "llvm-config-19", "llvm-config"]
_GET = "Debian: apt-get install llvm-22-dev, or ./dev, which does that; elsewhere set LLVM_CONFIG to an llvm-config of 19 to 22"

def _run(ctx, tool, args):
    r = ctx.execute([tool] + args)
    if r.return_code != 0:
        fail("%s %s failed: %s" % (tool, " ".join(args), r.stderr))
    return r.stdout.strip()

def _impl(ctx):
    want = ctx.os.environ.get("LLVM_CONFIG", "")
    tool = None
    for name in ([want] if want else _CANDIDATES):
        tool = ctx.path(name) if name.startswith("/") else ctx.which(name)
        if tool:
            break
    if not tool:
        fail("LLVM's headers are missing: none of %s is in PATH. %s" % (", ".join([want] if want else _CANDIDATES), _GET))
    version = _run(ctx, tool, ["--version"])
    major = int(version.split(".")[0])
    if major < 19 or major > 22:
        fail("%s is LLVM %s, which is not supported. %s" % (tool, version, _GET))
    inc = _run(ctx, tool, ["--includedir"])
    if not ctx.path(inc + "/llvm-c/Core.h").exists:
        fail("LLVM's headers are missing: %s has no llvm-c/Core.h. %s" % (inc, _GET))
    ctx.symlink(inc + "/llvm-c", "include/llvm-c")
    ctx.symlink(inc + "/llvm/Config", "include/llvm/Config")  # llvm-c/Target.h includes it
    ctx.file("BUILD.bazel", """\
load("@rules_cc//cc:defs.bzl", "cc_library")
package(default_visibility = ["//visibility:public"])
cc_library(
    name = "llvm_c",
    hdrs = glob(["include/llvm-c/**/*.h", "include/llvm/Config/*.h", "include/llvm/Config/*.def"]),
    includes = ["include"],
)
""")

llvm_configure = repository_rule(implementation = _impl, environ = ["LLVM_CONFIG", "PATH"], local = True, configure = True)
