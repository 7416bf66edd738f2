// OpenMP's functions, where no compiler that has them is installed. Looked into last.
#pragma once

typedef struct { void* lock; } omp_lock_t;
#ifdef __cplusplus
extern "C" {
#endif
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_get_num_procs();
int omp_in_parallel();
void omp_set_num_threads(int threads);
void omp_set_dynamic(int dynamic);
void omp_set_nested(int nested);
double omp_get_wtime();
void omp_init_lock(omp_lock_t* lock);
void omp_destroy_lock(omp_lock_t* lock);
void omp_set_lock(omp_lock_t* lock);
void omp_unset_lock(omp_lock_t* lock);
#ifdef __cplusplus
}
#endif
