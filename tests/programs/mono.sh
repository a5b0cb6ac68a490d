# Mono: its collector suspends threads by signals and reads their stacks.
# needs: mono mcs
# jit
prepare() {
    echo 'using System; using System.Collections.Generic; using System.Linq; using System.Threading;
class Work { static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
class Node { public Node l, r; public int v; public Node(int d) { v = d; if (d > 0) { l = new Node(d - 1); r = new Node(d - 1); } } public int Sum() { return v + (l == null ? 0 : l.Sum() + r.Sum()); } }
static void Main() { Console.WriteLine(Fib(30));
 var m = new Dictionary<string, List<int>>(); for (int i = 0; i < 200000; i++) { var k = "w" + (i * 7919L % 5003); if (!m.ContainsKey(k)) m[k] = new List<int>(); m[k].Add(i); }
 Console.WriteLine(m.Count + " " + m.Values.Sum(l => (long)l[l.Count - 1]));
 int c = 0; for (int i = 0; i < 5000; i++) try { throw new Exception("x"); } catch (Exception) { c++; }
 for (int i = 0; i < 500; i++) try { object o = null; o.ToString(); } catch (NullReferenceException) { c++; } Console.WriteLine(c);
 var sums = new int[6]; var ts = Enumerable.Range(0, 6).Select(i => new Thread(() => { for (int j = 0; j < 6; j++) sums[i] += new Node(11 + i % 3).Sum(); })).ToList();
 ts.ForEach(t => t.Start()); for (int i = 0; i < 5; i++) GC.Collect(); ts.ForEach(t => t.Join()); Console.WriteLine(string.Join(",", sums));
 Console.WriteLine(Enumerable.Range(0, 200).AsParallel().Sum(i => Fib(15) + i));
 IEnumerable<int> y = Count(5000); Console.WriteLine(y.Sum()); Environment.Exit(3 - 3); }
static IEnumerable<int> Count(int n) { for (int i = 0; i < n; i++) yield return i; } }' > work.cs
    mcs -out:work.exe work.cs
}
run() { HOME=$PWD mono work.exe; }
"$@"
