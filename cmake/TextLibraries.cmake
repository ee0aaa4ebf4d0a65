# The libraries of the floors `tokenizer` and `convert` (yaml). Debian's packages of PCRE2, SentencePiece and
# libyaml have no CMake files.

# ek_library(pcre2 pcre2.h pcre2-8 libpcre2-dev): the imported target evenkeel::pcre2.
function(ek_library NAME HEADER FILE PACKAGE)
  find_path(EK_${NAME}_INCLUDE ${HEADER})
  find_library(EK_${NAME}_LIBRARY ${FILE})
  if(NOT EK_${NAME}_INCLUDE OR NOT EK_${NAME}_LIBRARY)
    message(FATAL_ERROR "${NAME}: ${HEADER} and lib${FILE} are wanted, but not found; install ${PACKAGE}")
  endif()
  add_library(evenkeel::${NAME} UNKNOWN IMPORTED)
  set_target_properties(evenkeel::${NAME} PROPERTIES
    IMPORTED_LOCATION ${EK_${NAME}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${EK_${NAME}_INCLUDE})
endfunction()

ek_library(pcre2 pcre2.h pcre2-8 libpcre2-dev)
ek_library(sentencepiece sentencepiece_processor.h sentencepiece libsentencepiece-dev)
ek_library(yaml yaml.h yaml libyaml-dev)
find_package(ICU REQUIRED COMPONENTS uc)
