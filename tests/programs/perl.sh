# Perl: regular expressions, die through eval, forks.
# needs: perl
run() {
    perl -e 'my %h; for my $i (1..300000) { my $w = "w" . ($i * 7919 % 5003); $h{$w}++; } my $n = 0; for (1..100000) { eval { die "x" }; $n++ if $@ } 
        for (1..50) { my $p = fork; exit($_ % 5) unless $p; waitpid $p, 0; $n += $? >> 8 } my $s = join ",", sort keys %h; my $c = () = $s =~ /w(\d)\d*1,/g; print "$n $c\n"; sub d { $_[0] ? 1 + d($_[0] - 1) : 0 } no warnings; print d(20000), "\n"'
}
"$@"
