; identity 48
; 16-bit offsets; a swizzle xors the bits under the mask y, shifted by s, into others. Sw<B,M,S> on bytes of elements of 2^k bytes is Sw<B,M-k,S> on elements, when the masks lose no bit.
(set-info :status unsat)
(set-logic QF_BV)
(declare-const x (_ BitVec 16))
(declare-const y (_ BitVec 16))
(declare-const s (_ BitVec 16))
(declare-const k (_ BitVec 16))
(assert (= (bvshl (bvlshr y s) s) y))
(assert (= (bvlshr (bvshl y k) k) y))
(assert (not (= (bvxor (bvshl x k) (bvlshr (bvand (bvshl x k) (bvshl y k)) s)) (bvshl (bvxor x (bvlshr (bvand x y) s)) k))))
(check-sat)
