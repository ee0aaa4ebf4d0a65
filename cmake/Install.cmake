# `cmake --install build/release --prefix FOLDER`: the program, the operators for Python, the manual page, completions
# for bash, zsh and fish, and the licence. The program itself writes page and completions, so that they agree with it.
include(GNUInstallDirs)

# LibTorch is searched for in the installed lib folder first, then where it was at the build.
set_target_properties(evenkeel evenkeel_ops PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN;${EVENKEEL_TORCH}/lib" BUILD_WITH_INSTALL_RPATH OFF
  BUILD_RPATH "${CMAKE_INSTALL_RPATH}" SKIP_BUILD_RPATH OFF)
install(TARGETS evenkeel evenkeel_ops
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(SHELL_FILES ${PROJECT_BINARY_DIR}/shell)
install(CODE "
  file(MAKE_DIRECTORY \"${SHELL_FILES}\")
  function(evenkeel_writes FILE)
    execute_process(COMMAND \"$<TARGET_FILE:evenkeel>\" \${ARGN} OUTPUT_FILE \"${SHELL_FILES}/\${FILE}\"
                    COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  evenkeel_writes(evenkeel.1 man)
  evenkeel_writes(evenkeel completion bash)
  evenkeel_writes(_evenkeel completion zsh)
  evenkeel_writes(evenkeel.fish completion fish)")
install(FILES ${SHELL_FILES}/evenkeel.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${SHELL_FILES}/evenkeel DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${SHELL_FILES}/_evenkeel DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${SHELL_FILES}/evenkeel.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
