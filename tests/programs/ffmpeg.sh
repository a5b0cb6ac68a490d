# ffmpeg: threads, and assembly in its codecs without call frame information.
# needs: ffmpeg
# partial: no-cfi 5, unsupported-cfi 5

run() {
    ffmpeg -v error -y -f lavfi -i testsrc=size=640x360:rate=25 -f lavfi -i sine -t 3 -c:v libx264 -preset fast -threads 2 -c:a aac -flags +bitexact -fflags +bitexact -f nut out.nut
    ffmpeg -v error -i out.nut -vf scale=320:180 -f framemd5 - | cksum
}
"$@"
