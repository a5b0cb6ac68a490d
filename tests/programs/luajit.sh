# LuaJIT: traces of machine code without any call frame information.
# needs: luajit
# jit
prepare() {
    echo 'local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(32))
local t = {} for i = 1, 3000000 do t[i % 1000 + 1] = (t[i % 1000 + 1] or 0) + i % 7 end
local s = 0 for _, v in ipairs(t) do s = s + v end print(s)
local n = 0 for i = 1, 100000 do if not pcall(error, "x") then n = n + 1 end end print(n)
local co = coroutine.wrap(function() for i = 1, 1000000 do coroutine.yield(i) end end)
local c = 0 for i = 1, 1000000 do c = c + co() end print(c)
print(#string.rep("ab", 1000000):gsub("a", "xyz"))' > work.lua
}
run() { luajit work.lua; }
"$@"
