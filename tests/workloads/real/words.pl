# Counts the words of a text in several ways, sorts them, and dies on the way a few thousand times.
use strict;
use warnings;

my %count;
my $lines = 0;
my @lines = <>;
for my $line (@lines) {
    $count{lc $1}++ while $line =~ /(\w+)/g;
    $lines++;
}
sub rank { $count{$b} <=> $count{$a} || $a cmp $b }
my @words = sort rank keys %count;

sub depth {
    my ($n) = @_;
    die { left => $n } if $n == 0;
    return depth($n - 1);
}
my $died = 0;
for my $round (1 .. 5000) {
    eval { depth(20); 1 } or $died++;
}

my $reversed = join ' ', map { scalar reverse } @words[0 .. 9];
print "$lines lines, ", scalar(@words), " words, $died deaths, $reversed\n";
