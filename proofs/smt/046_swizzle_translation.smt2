; identity 46
; 32-bit offsets; a swizzle xors the bits under the mask y, shifted by s, into others. Aligned blocks (low is 2^k - 1) that hold the mask are translated: Sw(x + w) = Sw(x) + w for multiples w of their size.
(set-info :status unsat)
(set-logic QF_BV)
(declare-const x (_ BitVec 32))
(declare-const w (_ BitVec 32))
(declare-const y (_ BitVec 32))
(declare-const s (_ BitVec 32))
(declare-const low (_ BitVec 32))
(assert (= (bvand low (bvadd low #x00000001)) #x00000000))
(assert (= (bvor y low) low))
(assert (= (bvand w low) #x00000000))
(assert (not (= (bvxor (bvadd x w) (bvlshr (bvand (bvadd x w) y) s)) (bvadd (bvxor x (bvlshr (bvand x y) s)) w))))
(check-sat)
