# `cmake --install build/release --prefix FOLDER`: the program, the operators for Python, the manual page, completions
# for bash, zsh and fish, and the licence. The program itself writes page and completions, so that they agree with it.
include(GNUInstallDirs)

# LibTorch is searched for in the installed lib folder first, then in lib/evenkeel, which is a link to where it was at
# the build.
install(TARGETS evenkeel evenkeel_ops
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(CODE "
  set(PREFIX \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  foreach(FILE ${CMAKE_INSTALL_BINDIR}/evenkeel ${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:evenkeel_ops>)
    file(RPATH_SET FILE \"\${PREFIX}/\${FILE}\"
         NEW_RPATH [[$ORIGIN/../${CMAKE_INSTALL_LIBDIR}:$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/evenkeel]])
  endforeach()
  if(NOT EXISTS \"\${PREFIX}/${CMAKE_INSTALL_LIBDIR}/evenkeel\")
    file(CREATE_LINK \"${EVENKEEL_TORCH}/lib\" \"\${PREFIX}/${CMAKE_INSTALL_LIBDIR}/evenkeel\" SYMBOLIC)
  endif()")

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
