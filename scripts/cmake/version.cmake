# cmake -DSOURCE=... -DOUTPUT=... -DVERSION=... -DCOMPILER=... -P version.cmake
#
# Run in every build, since git's state is no file to depend on; the header is only touched when it
# changes. Outside a git checkout (a tarball) there is no revision.

find_program(GIT git)
set(REVISION "")
if(GIT AND EXISTS ${SOURCE}/.git)
	execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
		OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
configure_file(${SOURCE}/cmd/version.h.in ${OUTPUT} @ONLY)
