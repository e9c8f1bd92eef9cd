/* The kernel around a program's main; see library.c. */
void inlay_begin(unsigned*);
void inlay_end(int);
int main();
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(1, 1))) void inlay_run(unsigned* result) {
  static char name[] = "program";
  static char* arguments[] = {name, 0};
  inlay_begin(result);
  inlay_end(((int (*)(int, char**))main)(1, arguments));
}
