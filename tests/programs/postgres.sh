# A PostgreSQL server with a process for each connection.
# needs: runuser pgbench postgres
prepare() {
    mkdir data; chmod 777 . data
    chown nobody data
}
run() {
    rm -rf data/*
    export LC_ALL=C
    as="runuser -u nobody --"
    $as initdb -N -D data/d -A trust -U nobody > data.log 2>&1 || { cat data.log; exit 1; }
    $as pg_ctl -D data/d -w -o "-k $PWD/data -h '' -F" -l data/log start > data.log 2>&1 || { cat data.log data/log; exit 1; }
    $as pgbench -h $PWD/data -U nobody -i -s 1 -q postgres > data.log 2>&1 || cat data.log
    $as pgbench -h $PWD/data -U nobody -c 4 -C -t 25 postgres 2>&1 | grep -E 'processed|failed' 
    $as psql -h $PWD/data -U nobody -At -c 'select count(*), sum(bid) from pgbench_accounts' postgres
    $as pg_ctl -D data/d -w -m fast stop > data.log 2>&1
    grep -iE 'panic|signal|crash' data/log
    true
}
"$@"
