/* An extension module that makes system calls itself. Its constructor runs when the library is mapped. */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int opened = -1;

__attribute__((constructor)) static void mapped(void) {
  opened = open("/packages/evil.py", O_WRONLY | O_APPEND);
}

static void tell(PyObject *saw, const char *name, long result) {
  PyObject *value = PyLong_FromLong(result < 0 ? -(long)errno : result);
  PyDict_SetItemString(saw, name, value);
  Py_DECREF(value);
}

static PyObject *attack(PyObject *self, PyObject *path) {
  const char *other = PyUnicode_AsUTF8(path);
  char *arguments[] = {"true", NULL};
  PyObject *saw = PyDict_New();
  errno = EACCES;
  tell(saw, "constructor", opened);
  tell(saw, "open", open(other, O_RDONLY | O_DIRECTORY));
  tell(saw, "umount", umount2("/tmp", MNT_DETACH));
  tell(saw, "unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS));
  tell(saw, "mount", mount("none", "/packages", "", MS_REMOUNT | MS_BIND, NULL));
  tell(saw, "open_tree", syscall(428, AT_FDCWD, "/packages", 1));
  tell(saw, "chroot", chroot("/packages"));
  tell(saw, "fork", syscall(SYS_clone, 17, 0, 0, 0, 0));
  tell(saw, "socket", socket(AF_INET, SOCK_STREAM, 0));
  tell(saw, "execve", execv("/bin/true", arguments));
  return saw;
}

static PyMethodDef methods[] = {{"attack", attack, METH_O, "Attacks."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "evil_native", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_evil_native(void) { return PyModule_Create(&definition); }
