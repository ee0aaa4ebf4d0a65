# Protections against memory errors, for every target; tools/check_elf.py checks the built program.
#
# A sanitizer replaces them, and _FORTIFY_SOURCE needs an optimized build: EK_HARDENING=OFF is for both.
option(EK_HARDENING "Stack protector, checked C and C++ library calls, read-only relocations" ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
if(EK_HARDENING)
  # -U first: some distributions define _FORTIFY_SOURCE themselves.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong;-fcf-protection>")
  set(OPTIMIZED_CXX $<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>)
  add_compile_options("$<${OPTIMIZED_CXX}:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endif()
