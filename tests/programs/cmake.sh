# cmake tries the compiler and generates a build.
# needs: cmake gcc make
prepare() {
    printf 'cmake_minimum_required(VERSION 3.5)\nproject(p C)\ninclude(CheckFunctionExists)\ncheck_function_exists(printf HAVE_PRINTF)\nadd_executable(p p.c)\n' > CMakeLists.txt
    echo 'int main(void) { return 3; }' > p.c
}
run() { rm -rf b; cmake -S . -B b > log 2>&1 && make -C b > log2 2>&1; ./b/p; echo $?; }
"$@"
