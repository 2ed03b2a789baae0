# Run by cpack over the files of the package: what Debian wants otherwise than an installation by hand.
file(GLOB_RECURSE share_folders LIST_DIRECTORIES true ${CPACK_TEMPORARY_DIRECTORY}/*)
list(FILTER share_folders INCLUDE REGEX "/usr/share$")
list(GET share_folders 0 share)
file(GLOB pages ${share}/man/man*/*)
execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
file(MAKE_DIRECTORY ${share}/zsh/vendor-completions)
file(RENAME ${share}/zsh/site-functions/_memtool ${share}/zsh/vendor-completions/_memtool)
file(REMOVE_RECURSE ${share}/zsh/site-functions)

set(doc ${share}/doc/memtool-profile)
# Of the libraries inside the program, and of what its page is made of; scripts/deb collects them.
if(CPACK_MEMTOOL_LICENCES)
  file(COPY ${CPACK_MEMTOOL_LICENCES}/ DESTINATION ${doc}/licences)
endif()
file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: memtool

Files: *
Copyright: 2026 memtool's authors
License: Apache-2.0
 On Debian systems, the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
")
configure_file(${CPACK_MEMTOOL_SOURCE}/CHANGELOG.md ${doc}/changelog COPYONLY)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where that is set
file(WRITE ${doc}/changelog.Debian "memtool-profile (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * As upstream made it.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
execute_process(COMMAND gzip -9nf ${doc}/changelog ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
file(CHMOD ${share}/memtool/engines/slurm.sbatch PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
  GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
file(GLOB_RECURSE libraries ${share}/../lib/*.so)
file(CHMOD ${libraries} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
