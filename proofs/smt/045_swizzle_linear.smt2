; identity 45
; 32-bit offsets; a swizzle xors the bits under the mask y, shifted by s, into others. It maps the xor of two offsets to the xor of their images.
(set-info :status unsat)
(set-logic QF_BV)
(declare-const x (_ BitVec 32))
(declare-const w (_ BitVec 32))
(declare-const y (_ BitVec 32))
(declare-const s (_ BitVec 32))
(assert (not (= (bvxor (bvxor x w) (bvlshr (bvand (bvxor x w) y) s)) (bvxor (bvxor x (bvlshr (bvand x y) s)) (bvxor w (bvlshr (bvand w y) s))))))
(check-sat)
