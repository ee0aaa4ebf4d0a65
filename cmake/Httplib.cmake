# Debian's library is split: its header must be read with the macros that the library was built with.
ek_library(httplib httplib.h cpp-httplib libcpp-httplib-dev)
set_target_properties(evenkeel::httplib PROPERTIES INTERFACE_COMPILE_DEFINITIONS
  "CPPHTTPLIB_OPENSSL_SUPPORT;CPPHTTPLIB_ZLIB_SUPPORT;CPPHTTPLIB_BROTLI_SUPPORT")
