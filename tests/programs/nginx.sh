# An nginx server with two workers under load.
# needs: nginx ab curl
prepare() {
    mkdir -p www logs
    seq 5000 > www/index.html
}
run() {
    # Another run may be beside this one.
    port=$((20000 + $$ % 10000))
    echo "pid nginx.pid; error_log logs/error.log; worker_processes 2; events {} http { access_log logs/access.log; gzip on; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5; server { listen unix:$PWD/s; listen 127.0.0.1:$port; root $PWD/www; } }" > nginx.conf
    rm -f s; nginx -p $PWD -c $PWD/nginx.conf || exit 1
    ab -q -n 3000 -c 8 -H 'Accept-Encoding: gzip' http://127.0.0.1:$port/ 2>&1 | grep -E 'Complete|Failed|Non-2xx'
    curl -s --unix-socket s http://x/ | cksum
    pid=$(cat nginx.pid)
    nginx -p $PWD -c $PWD/nginx.conf -s quit 2> /dev/null
    # Where process 1 waits for nobody, what has ended stays as a zombie.
    while grep -qs '^State:.[^ZX]' /proc/$pid/status; do sleep 0.05; done
    grep -E 'alert|signal 11|exited on' logs/error.log
    true
}
"$@"
