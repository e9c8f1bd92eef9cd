; identity 7
; A = (a0,a1):(x,y) at n = r + a0 k with 0 <= r < a0 is x r + y k, and by 004 there is one such r and k. A o s:d = s:(e y) when d = a0 e: the digits of d i are 0 and e i.
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const a0 Int)
(declare-const x Int)
(declare-const y Int)
(declare-const d Int)
(declare-const e Int)
(declare-const i Int)
(assert (>= a0 1))
(assert (= d (* a0 e)))
(assert (not (and (= (* d i) (+ 0 (* a0 (* e i)))) (< 0 a0) (= (* (* e y) i) (+ (* x 0) (* y (* e i)))))))
(check-sat)
