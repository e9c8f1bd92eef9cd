(* What folds may be regrouped by: sum, max, min, argmax, Welford's moments, online softmax, log-sum-exp. The numbers are those of any
   field, in any total order, with any exp and ln that turn sums into products and back: what is used of them is a hypothesis here,
   so the real numbers are one case, and no property of them is assumed. Rounding is not looked at. *)
Require Import Bool List Arith Lia Field.
Import ListNotations.

(* ---- the better one of two: a total order ---------------------------------------------------------------------------- *)

Definition lift {A} (op : A -> A -> A) (a b : option A) : option A :=
  match a, b with None, x => x | x, None => x | Some x, Some y => Some (op x y) end.

Record laws {A} (op : A -> A -> A) (empty : A) : Prop := {
  law_assoc : forall a b c, op a (op b c) = op (op a b) c;
  law_comm : forall a b, op a b = op b a;
  law_empty : forall a, op empty a = a }.

Theorem lifted_laws : forall A (op : A -> A -> A), (forall a b c, op a (op b c) = op (op a b) c) ->
  (forall a b, op a b = op b a) -> laws (lift op) None.
Proof.
  intros A op assoc comm. split.
  - intros [a|] [b|] [c|]; simpl; try reflexivity. now rewrite assoc.
  - intros [a|] [b|]; simpl; try reflexivity. now rewrite comm.
  - intros [a|]; reflexivity.
Qed.

Section Best.
Variables (A : Type) (le : A -> A -> bool).
Hypothesis total : forall a b, le a b = true \/ le b a = true.
Hypothesis trans : forall a b c, le a b = true -> le b c = true -> le a c = true.
Hypothesis antisym : forall a b, le a b = true -> le b a = true -> a = b.
Definition best a b := if le a b then b else a.

Lemma best_comm : forall a b, best a b = best b a.
Proof.
  intros a b. unfold best. destruct (le a b) eqn:ab, (le b a) eqn:ba; auto.
  destruct (total a b); congruence.
Qed.
Lemma best_right : forall a b, le b (best a b) = true.
Proof.
  intros a b. unfold best. destruct (le a b) eqn:ab; [destruct (total b b); auto|].
  destruct (total a b); congruence.
Qed.
Lemma best_left : forall a b, le a (best a b) = true.
Proof. intros. rewrite best_comm. apply best_right. Qed.
Lemma best_least : forall a b c, le a c = true -> le b c = true -> le (best a b) c = true.
Proof. intros a b c. unfold best. now destruct (le a b). Qed.
Lemma best_assoc : forall a b c, best a (best b c) = best (best a b) c.
Proof.
  intros a b c. apply antisym.
  - apply best_least; [apply trans with (best a b); apply best_left|]. apply best_least.
    + apply trans with (best a b); [apply best_right|apply best_left].
    + apply best_right.
  - apply best_least; [apply best_least|].
    + apply best_left.
    + apply trans with (best b c); [apply best_left|apply best_right].
    + apply trans with (best b c); apply best_right.
Qed.

(* max; min is that of the other order. The empty element is no number: -oo, or oo. *)
Theorem best_laws : laws (lift best) None.
Proof. apply lifted_laws; [apply best_assoc|apply best_comm]. Qed.
Theorem best_idempotent : forall a, best a a = a.
Proof. intros. unfold best. now destruct (le a a). Qed.
(* Whatever the order, what comes out is at least everything that went in, and one of it. *)
Theorem best_bound : forall l start x, In x (start :: l) -> le x (fold_right best start l) = true.
Proof.
  induction l as [|y l IH]; intros start x H; simpl in *.
  - destruct H as [->|[]]. destruct (total x x); auto.
  - destruct H as [H|[->|H]]; [|apply best_left|].
    + apply trans with (fold_right best start l); [apply IH; now left|apply best_right].
    + apply trans with (fold_right best start l); [apply IH; now right|apply best_right].
Qed.
Theorem best_member : forall l start, In (fold_right best start l) (start :: l).
Proof.
  induction l as [|y l IH]; intros start; simpl; [auto|].
  destruct (IH start) as [H|H]; unfold best at 1 3 5; destruct (le y (fold_right best start l)); auto.
Qed.
End Best.

(* ---- argmax: the value, and where equal the least index -------------------------------------------------------------- *)

Section Argmax.
Variables (A : Type) (le : A -> A -> bool).
Hypothesis total : forall a b, le a b = true \/ le b a = true.
Hypothesis trans : forall a b c, le a b = true -> le b c = true -> le a c = true.
Hypothesis antisym : forall a b, le a b = true -> le b a = true -> a = b.
Definition before (p q : A * nat) : bool :=
  le (fst p) (fst q) && (negb (le (fst q) (fst p)) || Nat.leb (snd q) (snd p)).

Lemma before_total : forall p q, before p q = true \/ before q p = true.
Proof.
  intros [x i] [y j]. unfold before. simpl. destruct (le x y) eqn:xy, (le y x) eqn:yx; simpl; auto.
  - destruct (Nat.leb_spec j i), (Nat.leb_spec i j); auto; lia.
  - destruct (total x y); congruence.
Qed.
Lemma before_trans : forall p q r, before p q = true -> before q r = true -> before p r = true.
Proof.
  intros [x i] [y j] [z k]. unfold before. simpl. rewrite !andb_true_iff, !orb_true_iff, !negb_true_iff, !Nat.leb_le.
  intros [xy H] [yz K]. split; [now apply trans with y|].
  destruct (le z x) eqn:zx; [right|now left].
  assert (zy : le z y = true) by now apply trans with x.
  assert (yx : le y x = true) by now apply trans with z.
  destruct H, K; try congruence. lia.
Qed.
Lemma before_antisym : forall p q, before p q = true -> before q p = true -> p = q.
Proof.
  intros [x i] [y j]. unfold before. simpl. rewrite !andb_true_iff, !orb_true_iff, !negb_true_iff, !Nat.leb_le.
  intros [xy H] [yx K]. f_equal; [now apply antisym|]. destruct H, K; try congruence. lia.
Qed.

Definition argmax := best (A * nat) before.
Theorem argmax_laws : laws (lift argmax) None.
Proof. apply best_laws; [apply before_total|apply before_trans|apply before_antisym]. Qed.
(* No value is above the result's, and no equal one has an index below. *)
Theorem argmax_greatest : forall l start x i, In (x, i) (start :: l) ->
  let r := fold_right argmax start l in le x (fst r) = true /\ (x = fst r -> snd r <= i).
Proof.
  intros l start x i H r. assert (B := best_bound _ before before_total before_trans before_antisym l start (x, i) H).
  fold argmax r in B. unfold before in B. simpl in B.
  rewrite andb_true_iff, orb_true_iff, negb_true_iff, Nat.leb_le in B. destruct B as [B [C|C]]; split; auto.
  intros ->. destruct (total (fst r) (fst r)); congruence.
Qed.
End Argmax.

(* ---- a field ----------------------------------------------------------------------------------------------------------- *)

Section Numbers.
Variables (F : Type) (zero one : F) (add mul sub : F -> F -> F) (opp : F -> F) (div : F -> F -> F) (inv : F -> F).
Hypothesis field : field_theory zero one add mul sub opp div inv eq.
Add Field numbers : field.
Infix "+" := add. Infix "*" := mul. Infix "-" := sub. Infix "/" := div.

Theorem sum_laws : laws add zero.
Proof. split; intros; ring. Qed.

(* Count, mean, and sum of squared distances from the mean. *)
Definition welford (a b : F * F * F) : F * F * F :=
  let '(n, m, s) := a in let '(k, p, t) := b in
  (n + k, m + (p - m) * (k / (n + k)), s + t + (p - m) * (p - m) * (n * k / (n + k))).
Definition moments (n x q : F) : F * F * F := (n, x / n, q - x * x / n). (* of count, sum, and sum of squares *)
Theorem welford_joins : forall n x q k y r, n <> zero -> k <> zero -> n + k <> zero ->
  welford (moments n x q) (moments k y r) = moments (n + k) (x + y) (q + r).
Proof. intros. unfold welford, moments. f_equal; [f_equal|]; field; auto. Qed.
Theorem welford_one : forall x, moments one x (x * x) = (one, x, zero).
Proof. intros. assert (one <> zero) by apply (F_1_neq_0 field). unfold moments. f_equal; [f_equal|]; field; auto. Qed.
Theorem welford_comm : forall a b, fst (fst a) + fst (fst b) <> zero -> welford a b = welford b a.
Proof.
  intros [[n m] s] [[k p] t] H. simpl in H. assert (k + n <> zero) by (intro E; apply H; rewrite <- E; ring).
  unfold welford. f_equal; [f_equal|]; field; auto.
Qed.
Theorem welford_assoc : forall a b c, fst (fst a) + fst (fst b) <> zero -> fst (fst b) + fst (fst c) <> zero ->
  fst (fst a) + fst (fst b) + fst (fst c) <> zero -> welford a (welford b c) = welford (welford a b) c.
Proof.
  intros [[n m] s] [[k p] t] [[j r] u] H K L. simpl in H, K, L.
  assert (n + (k + j) <> zero) by (intro E; apply L; rewrite <- E; ring).
  unfold welford. f_equal; [f_equal|]; field; auto.
Qed.

(* ---- online softmax: a reference, the sum and the weighted sum that are scaled by it ----------------------------------- *)

Variables (exp : F -> F) (max : F -> F -> F).
Hypothesis exp_add : forall a b, exp (a + b) = exp a * exp b.
Hypothesis exp_not_zero : forall a, exp a <> zero.
Hypothesis max_assoc : forall a b c, max a (max b c) = max (max a b) c.
Hypothesis max_comm : forall a b, max a b = max b a.
Definition online (a b : F * F * F) : F * F * F :=
  let '(m, l, o) := a in let '(n, k, p) := b in let r := max m n in
  (r, l * exp (m - r) + k * exp (n - r), o * exp (m - r) + p * exp (n - r)).

Lemma exp_sub : forall a b, exp (a - b) * exp b = exp a.
Proof. intros. rewrite <- exp_add. f_equal. ring. Qed.
Lemma scaled : forall x a b, x * exp (a - b) = x * exp a / exp b.
Proof. intros. rewrite <- (exp_sub a b). field. apply exp_not_zero. Qed.

(* The sums without their reference: they add up, whatever the references are. *)
Theorem online_joins : forall a b, let '(m, l, o) := a in let '(n, k, p) := b in let '(r, s, q) := online a b in
  s * exp r = l * exp m + k * exp n /\ q * exp r = o * exp m + p * exp n.
Proof.
  intros [[m l] o] [[n k] p]. unfold online.
  split; rewrite !scaled; field; apply exp_not_zero.
Qed.
Theorem online_comm : forall a b, online a b = online b a.
Proof. intros [[m l] o] [[n k] p]. unfold online. rewrite (max_comm n m). f_equal; [f_equal|]; ring. Qed.
Theorem online_assoc : forall a b c, online a (online b c) = online (online a b) c.
Proof.
  intros [[m l] o] [[n k] p] [[r s] q]. unfold online. rewrite max_assoc.
  f_equal; [f_equal|]; rewrite !scaled; field; repeat split; apply exp_not_zero.
Qed.
Theorem online_laws : laws (lift online) None.
Proof. apply lifted_laws; [apply online_assoc|apply online_comm]. Qed.
(* What is stored in the end does not depend on the reference. *)
Theorem online_quotient : forall m l o, l <> zero -> o / l = o * exp m / (l * exp m).
Proof. intros. field. split; [apply exp_not_zero|auto]. Qed.

(* ---- log-sum-exp ------------------------------------------------------------------------------------------------------- *)

Variables (ln : F -> F) (positive : F -> Prop).
Hypothesis exp_positive : forall a, positive (exp a).
Hypothesis exp_ln : forall a, positive a -> exp (ln a) = a.
Hypothesis ln_exp : forall a, ln (exp a) = a.
Definition lse (a : F * F) : F := fst a + ln (snd a). (* of a reference and the sum scaled by it *)
Theorem lse_value : forall m l, positive l -> exp (lse (m, l)) = l * exp m.
Proof. intros. unfold lse. simpl. rewrite exp_add, exp_ln by auto. ring. Qed.
Theorem lse_reference : forall m l n k, positive l -> positive k -> l * exp m = k * exp n -> lse (m, l) = lse (n, k).
Proof. intros m l n k L K H. rewrite <- (ln_exp (lse (m, l))), <- (ln_exp (lse (n, k))). now rewrite !lse_value, H by auto. Qed.
Theorem lse_joins : forall m l o n k p, positive l -> positive k -> positive (snd (fst (online (m, l, o) (n, k, p)))) ->
  lse (fst (online (m, l, o) (n, k, p))) = ln (exp (lse (m, l)) + exp (lse (n, k))).
Proof.
  intros m l o n k p L K S. rewrite <- (ln_exp (lse _)). f_equal.
  assert (J := online_joins (m, l, o) (n, k, p)). destruct (online (m, l, o) (n, k, p)) as [[r s] q] eqn:E.
  simpl in *. rewrite !lse_value by auto. apply J.
Qed.
End Numbers.
