/* Functions that glibc has got after the version that libmemtool_c.so is to run with, for the code inside that calls
 * them. They are the library's own: nobody else sees them. */
int memtool_x;
