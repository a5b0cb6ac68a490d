# The Java virtual machine: several compilers and collectors in threads of its own.
# needs: java javac
# jit
prepare() {
    echo 'import java.util.*; import java.util.stream.*;
public class Work { static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
public static void main(String[] a) throws Exception { System.out.println(fib(34));
 Map<String,Integer> m = new TreeMap<>(); for (int i = 0; i < 400000; i++) m.merge("w" + (i * 7919L % 5003), 1, Integer::sum);
 System.out.println(m.size() + " " + m.hashCode());
 System.out.println(IntStream.range(0, 2000000).parallel().mapToLong(x -> (long) x * x % 7).sum());
 int c = 0; for (int i = 0; i < 10000; i++) try { throw new RuntimeException("x" + i); } catch (RuntimeException e) { c++; } System.out.println(c);
 Thread[] t = new Thread[20]; for (int i = 0; i < 20; i++) { t[i] = new Thread(() -> fib(20)); t[i].start(); } for (Thread x : t) x.join(); 
 try { over(0); } catch (StackOverflowError e) { System.out.println("deep"); } }
 static int over(int n) { return over(n + 1) + 1; } }' > Work.java
    javac Work.java
}
run() { java -Xshare:auto -Xmn8m Work; }
"$@"
