; identity 7
; A o s:d with a0 | d, d = a0 e: the digit in mode 0 is 0 and the rest is e i.
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const a0 Int)
(declare-const d Int)
(declare-const e Int)
(declare-const i Int)
(assert (>= a0 1))
(assert (>= e 1))
(assert (= d (* a0 e)))
(assert (>= i 0))
(assert (not (= (* d i) (+ 0 (* a0 (* e i))))))
(check-sat)
