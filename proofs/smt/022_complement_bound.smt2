; identity 22
; (A, A*) of s:d in s d m: the greatest value is s d m - 1, so with 20 and the count it is onto.
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const s Int)
(declare-const d Int)
(declare-const m Int)
(assert (>= s 1))
(assert (>= d 1))
(assert (>= m 1))
(assert (not (= (+ (* d (- s 1)) (* 1 (- d 1)) (* (* s d) (- m 1))) (- (* s (* d m)) 1))))
(check-sat)
