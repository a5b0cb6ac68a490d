# Free Pascal: callees that pop their arguments, exceptions by longjmp, linked without a C library.
# needs: fpc
# jit
prepare() {
    echo '{$mode objfpc}{$H+}
program work;
uses {$ifdef libc}cthreads,{$endif} sysutils, classes;
type TNode = class l, r: TNode; constructor Create(d: integer); destructor Destroy; override; function Count: integer; end;
constructor TNode.Create(d: integer); begin if d > 0 then begin l := TNode.Create(d - 1); r := TNode.Create(d - 1) end end;
destructor TNode.Destroy; begin l.Free; r.Free; inherited end;
function TNode.Count: integer; begin if l = nil then Count := 1 else Count := l.Count + r.Count + 1 end;
function fib(n: integer): int64; begin if n < 2 then fib := n else fib := fib(n - 1) + fib(n - 2) end;
function many(a, b, c, d, e, f, g, h: integer; var s: int64): int64; stdcall; begin s := s + h; many := a + b + c + d + e + f + g end;
{$ifdef libc}
type TWork = class(TThread) sum: int64; procedure Execute; override; end;
procedure TWork.Execute; begin sum := fib(24) end;
var t: array[0..3] of TWork;
{$endif}
var i, n: integer; s, q: int64; tree: TNode; names: TStringList;
begin
  writeln(fib(32)); n := 0; s := 0; q := 0;
  for i := 1 to 50000 do try raise Exception.Create(inttostr(i)) except on e: Exception do n := n + length(e.message) end;
  for i := 1 to 3000000 do s := s + many(i, 1, 2, 3, 4, 5, 6, 7, q);
  for i := 1 to 10 do begin tree := TNode.Create(13); n := n + tree.Count; tree.Free end;
  names := TStringList.Create; names.Sorted := true; names.Duplicates := dupIgnore;
  for i := 1 to 60000 do names.Add(inttostr(i * 7919 mod 5003));
  writeln(n, " ", s, " ", q, " ", names.Count, names[17]);
{$ifdef libc}
  for i := 0 to 3 do t[i] := TWork.Create(false);
  s := 0; for i := 0 to 3 do begin t[i].WaitFor; s := s + t[i].sum end; writeln(s);
{$endif}
  halt(0)
end.' | sed "s/\"/'/g" > work.pas
    fpc -O2 -v0 -owork work.pas >/dev/null && fpc -O2 -v0 -dlibc -owork.libc work.pas >/dev/null
}
run() { ./work && ./work.libc; }
"$@"
