# SPDX-License-Identifier: MIT
# What `cmake --install` puts beside the program, and the Debian package (`cpack -G DEB` in the build folder). Build first:
# neither waits for the tests, which the target `install` would otherwise build as well.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

install(DIRECTORY configs traces DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery)  # configs/studies replays traces
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_PACKAGE_VENDOR "The Orrery authors")
set(CPACK_PACKAGE_CONTACT "The Orrery authors")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "It simulates one iteration of distributed training on a GPU cluster: how long it takes, where the time
goes, what bounds it, and what changes with other links, devices or parallelism. It replays Chakra execution traces,
imports other formats, and makes jobs from a model and its parallelism.")
include(CPack)
