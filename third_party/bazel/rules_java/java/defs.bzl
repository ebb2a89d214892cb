"""The rules that Bazel 4 has built in, under the names that its own tools load them by."""
java_binary = native.java_binary
java_import = native.java_import
java_library = native.java_library
java_runtime = native.java_runtime
java_toolchain = native.java_toolchain
