# Ruby's continuations copy the machine stack away and back; fibers switch it.
# needs: ruby
# jit
prepare() {
    echo 'require "continuation"
n = 0; k = nil
r = callcc { |c| k = c; 0 }
n += 1
k.call(r + 1) if r < 1000
puts n
def tree(d, &b) d == 0 ? b.call(1) : (tree(d - 1, &b); tree(d - 1, &b)) end
def generate
  s = 0; back = nil; resume = nil
  got = callcc { |out| back = out; resume ? resume.call : tree(9) { |x| callcc { |c| resume = c; back.call(x) } }; nil }
  return 512 if got.nil?
  generate_more(resume)
end
def generate_more(resume) resume ? 1 : 0 end
puts generate
def amb(choices, back) choices.each { |c| callcc { |k| back.push(k); return c } }; back.pop.call end
back = []
a = amb((1..20).to_a, back); b = amb((1..20).to_a, back); c = amb((1..30).to_a, back)
back.pop.call unless a < b && a * a + b * b == c * c && c > 20
puts [a, b, c].inspect
def deep(n, &f) n == 0 ? f.call : 1 + deep(n - 1, &f) end
again = nil; t = 0
v = deep(200) { callcc { |c| again = c; 0 } }
t += v; GC.start if t % 4000 == 0
again.call(t % 7) if t < 60000
puts t
fs = 200.times.map { |i| Fiber.new { x = 0; 50.times { x += deep(20) { Fiber.yield(x); i } }; x } }
s = 0
51.times { fs.each { |f| s += f.resume.to_i } }
puts s
e = [1, 2, 3].cycle; z = 0
20000.times { z += e.next }
puts z
puts 4.times.map { |i| Thread.new { Fiber.new { deep(50) { i } }.resume } }.map(&:value).inspect' > work.rb
}
run() { ruby -W0 work.rb; }
"$@"
