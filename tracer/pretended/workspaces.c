/* workspaces.c: how much room a library's function needs to work in, which a program asks for
 * before it calls the function: none. Each question has its answer's address at another place among
 * its arguments, all of which are integers and pointers. */
#include "tracer/pretended/pretended.h"

/* As many as the longest has; what a caller did not pass is not looked at. */
#define ARGUMENTS                                                                            \
  void *a0, void *a1, void *a2, void *a3, void *a4, void *a5, void *a6, void *a7, void *a8,  \
      void *a9, void *a10, void *a11, void *a12, void *a13, void *a14, void *a15, void *a16, \
      void *a17, void *a18, void *a19
#define ALL                                                                                  \
  (void *[]) {                                                                               \
    a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19 \
  }
#define NONE(type, at, name)          \
  EXPORT int name(ARGUMENTS) {        \
    type *const room = ALL[at];       \
    return room ? *room = 0, OK : OK; \
  }
/* For float, double and the complex of both. */
#define NONE_REAL(type, at, library, name) \
  NONE(type, at, library##S##name)         \
  NONE(type, at, library##D##name)
#define NONE_COMPLEX(type, at, library, name) \
  NONE(type, at, library##C##name)            \
  NONE(type, at, library##Z##name)
#define NONE_ALL(type, at, library, name) \
  NONE_REAL(type, at, library, name)      \
  NONE_COMPLEX(type, at, library, name)

NONE_ALL(int, 5, cusolverDn, geqrf_bufferSize)
NONE_ALL(int, 3, cusolverDn, gesvd_bufferSize)
NONE_ALL(int, 16, cusolverDn, gesvdaStridedBatched_bufferSize)
NONE_ALL(int, 11, cusolverDn, gesvdjBatched_bufferSize)
NONE_ALL(int, 12, cusolverDn, gesvdj_bufferSize)
NONE_ALL(int, 5, cusolverDn, getrf_bufferSize)
NONE_REAL(int, 7, cusolverDn, syevd_bufferSize)
NONE_COMPLEX(int, 7, cusolverDn, heevd_bufferSize)
NONE_REAL(int, 7, cusolverDn, syevj_bufferSize)
NONE_COMPLEX(int, 7, cusolverDn, heevj_bufferSize)
NONE_REAL(int, 7, cusolverDn, syevjBatched_bufferSize)
NONE_COMPLEX(int, 7, cusolverDn, heevjBatched_bufferSize)
NONE_ALL(int, 5, cusolverDn, potrf_bufferSize)
NONE_ALL(int, 4, cusolverDn, sytrf_bufferSize)
NONE_REAL(int, 7, cusolverDn, orgqr_bufferSize)
NONE_COMPLEX(int, 7, cusolverDn, ungqr_bufferSize)
NONE_REAL(int, 11, cusolverDn, ormqr_bufferSize)
NONE_COMPLEX(int, 11, cusolverDn, unmqr_bufferSize)

/* On the device and, behind it, on the host. */
#define NONE_TWICE(at, name)                                          \
  EXPORT int name(ARGUMENTS) {                                        \
    size_t *const device_room = ALL[at], *const room = ALL[(at) + 1]; \
    if (device_room) *device_room = 0;                                \
    return room ? *room = 0, OK : OK;                                 \
  }
NONE_TWICE(10, cusolverDnXgeqrf_bufferSize)
NONE_TWICE(8, cusolverDnXpotrf_bufferSize)
NONE_TWICE(11, cusolverDnXsyevd_bufferSize)
NONE_TWICE(11, cusolverDnXsyevBatched_bufferSize)
NONE_TWICE(17, cusolverDnXgeev_bufferSize)
NONE_TWICE(11, cusolverDnXsytrs_bufferSize)

NONE(size_t, 10, cusparseSpMM_bufferSize)
NONE(size_t, 9, cusparseSpMV_bufferSize)
NONE(size_t, 10, cusparseSDDMM_bufferSize)
NONE(size_t, 10, cusparseSpSM_bufferSize)
NONE(size_t, 9, cusparseSpSV_bufferSize)
NONE(size_t, 11, cusparseSpGEMM_workEstimation)
NONE(size_t, 11, cusparseSpGEMM_compute)
NONE(size_t, 6, cusparseXcoosort_bufferSizeExt)
NONE(size_t, 6, cusparseXcsrsort_bufferSizeExt)
NONE_ALL(size_t, 19, cusparse, csrgeam2_bufferSizeExt)
NONE_ALL(int, 13, cusparse, bsrsm2_bufferSize)
NONE_ALL(int, 11, cusparse, bsrsv2_bufferSize)
NONE(size_t, 2, cusparseLtMatmulGetWorkspace)
/* A result that has elements of which nobody knows how many. */
NONE(int, 13, cusparseXcsrgeam2Nnz)
EXPORT int cusparseSpMatGetSize(void *matrix UNUSED, int64_t *rows, int64_t *columns,
                                int64_t *elements) {
  return *rows = *columns = *elements = 0, OK;
}

NONE(size_t, 8, cudnnGetCTCLossWorkspaceSize)
NONE(size_t, 5, cudnnGetCTCLossWorkspaceSize_v8)
