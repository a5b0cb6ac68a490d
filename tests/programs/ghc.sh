# Haskell: the stack pointer is a register of the heap's; C's stack has one frame of it.
# needs: ghc gcc
# jit
prepare() {
    cat > Work.hs <<'END'
import qualified Data.Map.Strict as M
import Control.Concurrent
import Control.Exception
import Control.Monad
import System.Mem
fib :: Int -> Integer
fib n = if n < 2 then toInteger n else fib (n - 1) + fib (n - 2)
main :: IO ()
main = do
  print (fib 25)
  let m = foldr (\i -> M.insertWith (+) (show (i * 7919 `mod` 5003)) i) M.empty [1 .. 60000 :: Int]
  print (M.size m, sum (M.elems m))
  performGC
  vs <- forM [1 .. 20 :: Int] (\i -> do { v <- newEmptyMVar; _ <- forkIO (putMVar v $! fib (10 + i `mod` 8)); return v })
  mapM takeMVar vs >>= print . sum
  ns <- forM [1 .. 20000 :: Int] (\i -> (evaluate (if even i then throw Overflow else i)) `catch` (\e -> case e of { Overflow -> return 0; _ -> throwIO e }))
  print (sum ns)
  print (foldr (+) 0 [1 .. 500000 :: Integer])
  c <- newChan
  _ <- forkIO (forM_ [1 .. 20000 :: Int] (writeChan c))
  xs <- replicateM 20000 (readChan c)
  print (sum xs)
END
    for way in plain threaded; do
        set -- -O1 -v0 -outputdir $way -o work.$way Work.hs
        [ $way = threaded ] && set -- -threaded -rtsopts "$@"
        ghc "$@" || return 1
    done
}
run() { ./work.plain && ./work.threaded +RTS -N3 -RTS; }
"$@"
