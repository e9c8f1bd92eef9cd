; identity 43
; 32-bit offsets; a swizzle xors the bits under the mask y, shifted by s, into others. When the bits it reads are not those it writes it undoes itself, whichever way it shifts (right from y, left from z).
(set-info :status unsat)
(set-logic QF_BV)
(declare-const x (_ BitVec 32))
(declare-const y (_ BitVec 32))
(declare-const z (_ BitVec 32))
(declare-const s (_ BitVec 32))
(assert (= (bvand (bvlshr y s) y) #x00000000))
(assert (= (bvand (bvshl z s) z) #x00000000))
(assert (not (and (= (bvxor (bvxor x (bvlshr (bvand x y) s)) (bvlshr (bvand (bvxor x (bvlshr (bvand x y) s)) y) s)) x) (= (bvxor (bvxor x (bvshl (bvand x z) s)) (bvshl (bvand (bvxor x (bvshl (bvand x z) s)) z) s)) x))))
(check-sat)
