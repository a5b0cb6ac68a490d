# sqlite in a file, with indexes and a join.
# needs: sqlite3
run() {
    rm -f db; sqlite3 db "create table t(a int, b text); with recursive c(x) as (select 1 union all select x+1 from c where x<200000) insert into t select x, hex(x*7919%5003) from c;
        create index i on t(b); select count(*), sum(a) from t join (select distinct b from t) using (b); select b, count(*) from t group by b order by 2 desc, 1 limit 3; vacuum; pragma integrity_check"
}
"$@"
