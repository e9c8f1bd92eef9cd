; identity 47
; 16-bit offsets; a swizzle xors the bits under the mask y, shifted by s, into others. Two commute when neither reads what the other writes.
(set-info :status unsat)
(set-logic QF_BV)
(declare-const x (_ BitVec 16))
(declare-const y (_ BitVec 16))
(declare-const s (_ BitVec 16))
(declare-const v (_ BitVec 16))
(declare-const t (_ BitVec 16))
(assert (= (bvand (bvlshr y s) v) #x0000))
(assert (= (bvand (bvlshr v t) y) #x0000))
(assert (not (= (bvxor (bvxor x (bvlshr (bvand x v) t)) (bvlshr (bvand (bvxor x (bvlshr (bvand x v) t)) y) s)) (bvxor (bvxor x (bvlshr (bvand x y) s)) (bvlshr (bvand (bvxor x (bvlshr (bvand x y) s)) v) t)))))
(check-sat)
