# Ruby's interpreter: deep recursion, threads, exceptions by longjmp.
# needs: ruby
prepare() {
    echo 'def fib(n) n < 2 ? n : fib(n - 1) + fib(n - 2) end
puts fib(24)
t = 4.times.map { |i| Thread.new { (1..20000).map { |x| x.to_s * i }.join.hash.class } }
puts t.map(&:value).inspect
n = 0
20000.times { begin; raise "x" if n >= 0; rescue; n += 1; end }
f = Fiber.new { 5000.times { |i| Fiber.yield i } ; -1 }
s = 0
5000.times { s += f.resume }
puts n, s, `echo child`
def deep(n) n == 0 ? 0 : 1 + deep(n - 1) end
puts deep(5000)
begin; def e(n) e(n + 1) end; e(0); rescue SystemStackError; puts "deep"; end' > work.rb
}
run() { ruby work.rb; }
"$@"
