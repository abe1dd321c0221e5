"""Whether a version is slower than another one."""
