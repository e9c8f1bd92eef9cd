(* Strict composition is the composed function: every rank of A, every rank of B, any integer strides.

   leaf        body::compose_leaf, of one leaf s:d of B       algebra/include/inlay/algebra/bodies/composition.h
   compose     body::compose_into and require_no_carry, on concrete integers, without basis strides

   A is read as the library reads it: on every integer, its last mode running on.  So B may reach beyond A, and a B of one
   leaf may also run backwards. *)
Require Import ZArith List Lia Bool.
Require Import Value.
Import ListNotations.
Local Open Scope Z_scope.

Definition divides (a b : Z) : bool := if a =? 0 then b =? 0 else b mod a =? 0.
Definition ceil_div (a b : Z) : Z := - (- a / b).

(* The modes of the result, and what the leaf adds to the sums of digits of A's modes but the last. `emitted`: whether the
   loop has already appended a mode. *)
Fixpoint walk (A : list mode) (s d : Z) (emitted : bool) : option (list mode * list Z) :=
  match A with
  | [] => None
  | [(c, e)] => Some (if emitted && (s =? 1) then [] else [(s, d * e)], [])
  | (c, e) :: T =>
      let next := fun s' d' emitted' out reach =>
        match walk T s' d' emitted' with Some (R, sums) => Some (out ++ R, reach :: sums) | None => None end in
      if s =? 1 then next s (ceil_div d c) emitted [] 0
      else if divides c d then next s (d / c) emitted [] 0
      else if (0 <=? d) && ((s - 1) * d + 1 <=? c) then Some ([(s, d * e)], (s - 1) * d :: map (fun _ => 0) (tl T))
      else if (0 <=? d) && divides d c && divides (c / d) s then next (s / (c / d)) 1 true [(c / d, d * e)] (c - d)
      else None
  end.

Definition leaf (A : list mode) (s d : Z) : option (list mode * list Z) :=
  if d =? 0 then Some ([(s, 0)], map (fun _ => 0) (tl A)) else walk A s d false.

Fixpoint add (X Y : list Z) : list Z :=
  match X, Y with x :: X', y :: Y' => x + y :: add X' Y' | _, _ => [] end.

(* All leaves of B: the modes one after the other, the sums of digits added up. *)
Fixpoint leaves (A B : list mode) : option (list mode * list Z) :=
  match B with
  | [] => Some ([], map (fun _ => 0) (tl A))
  | (s, d) :: B' =>
      match leaf A s d, leaves A B' with
      | Some (R, x), Some (R', y) => Some (R ++ R', add x y)
      | _, _ => None
      end
  end.

(* Each sum of digits stays below the extent of its mode. *)
Fixpoint no_carry (A : list mode) (sums : list Z) : bool :=
  match A, sums with
  | (c, _) :: T, x :: X => (x + 1 <=? c) && no_carry T X
  | _, _ => true
  end.

Definition target (A : list mode) : list mode :=
  match coalesced true A with [] => [(1, 0)] | T => T end.

Definition compose (A B : list mode) : option (list mode) :=
  match leaves (target A) B with
  | Some (R, sums) => if (Z.of_nat (length B) <? 2) || no_carry (target A) sums then Some R else None
  | None => None
  end.

(* ---------------------------------------------------------------- what `sums` bounds *)
(* The digits of x in all modes of A but the last lie in [0, bound]. *)
Fixpoint digits_within (A : list mode) (x : Z) (bound : list Z) : Prop :=
  match A, bound with
  | [], _ => False
  | [_], b => b = []
  | (c, _) :: T, b :: bs => 0 <= x mod c <= b /\ digits_within T (x / c) bs
  | _, _ => False
  end.

Lemma value_add : forall A x y bx b, wf A -> digits_within A x bx -> digits_within A y b -> no_carry A (add bx b) = true ->
  value A (x + y) = value A x + value A y /\ digits_within A (x + y) (add bx b).
Proof.
  induction A as [|[c e] [|m T] IH]; intros x y bx b W Hx Hy H; [contradiction| |].
  - cbn in Hx, Hy. subst. cbn. split; [ring|reflexivity].
  - inversion W as [|? ? Hc W']; subst. cbn [fst] in Hc.
    destruct bx as [|b0 bx]; [contradiction|]. destruct b as [|b1 b]; [contradiction|].
    destruct Hx as [Hx Hx'], Hy as [Hy Hy']. cbn [add no_carry] in H. apply andb_prop in H. destruct H as [H H'].
    apply Z.leb_le in H. rewrite !value_cons by discriminate.
    assert (E : x + y = (x mod c + y mod c) + (x / c + y / c) * c).
    { rewrite (Z.div_mod x c) at 1 by lia. rewrite (Z.div_mod y c) at 1 by lia. ring. }
    assert (M : (x + y) mod c = x mod c + y mod c) by (rewrite E, Z_mod_plus_full, Z.mod_small; lia).
    assert (D : (x + y) / c = x / c + y / c) by (rewrite E, Z.div_add, Z.div_small by lia; lia).
    rewrite M, D. destruct (IH (x / c) (y / c) bx b W' Hx' Hy' H') as [I1 I2]. rewrite I1. split; [ring|].
    cbn [add digits_within]. rewrite M, D. split; [lia|exact I2].
Qed.

Lemma digits_0 : forall A, A <> [] -> wf A -> digits_within A 0 (map (fun _ => 0) (tl A)).
Proof.
  induction A as [|[c e] [|m T] IH]; intros N W; [congruence|reflexivity|]. inversion W; subst.
  cbn [tl map digits_within]. rewrite Zmod_0_l, Zdiv_0_l. split; [lia|]. apply IH; [discriminate|auto].
Qed.

Lemma divides_spec : forall a b, a <> 0 -> divides a b = true -> exists k, b = a * k.
Proof.
  intros a b Ha H. unfold divides in H. destruct (Z.eqb_spec a 0); [contradiction|]. apply Z.eqb_eq in H.
  exists (b / a). apply Z_div_exact_full_2; auto.
Qed.

Lemma digits_more : forall A x b b', digits_within A x b -> length b = length b' -> Forall2 Z.le b b' -> digits_within A x b'.
Proof.
  induction A as [|[c e] [|m T] IH]; intros x b b' H L F; auto.
  - cbn in *. subst. destruct b'; [reflexivity|discriminate].
  - inversion F; subst; [contradiction|]. destruct H. split; [lia|]. eapply IH; eauto.
Qed.

(* ---------------------------------------------------------------- one leaf *)
Lemma walk_correct : forall A s d emitted R sums, wf A -> 1 <= s -> walk A s d emitted = Some (R, sums) ->
  wf R /\ size R = s /\ (emitted = false -> R <> []) /\ (R = [] -> s = 1) /\
  forall i, 0 <= i < s -> value R i = value A (d * i) /\ digits_within A (d * i) sums.
Proof.
  induction A as [|[c e] [|m T] IH]; intros s d emitted R sums W Hs H; [discriminate| |].
  - cbn in H. destruct (Z.eqb_spec s 1), emitted; injection H as <- <-; subst; cbn; repeat split; auto; try discriminate;
      try (repeat constructor; cbn; lia); try lia; intros; try lia; assert (i = 0) by lia; subst; lia.
  - inversion W as [|? ? Hc W']; subst. cbn [fst] in Hc.
    assert (Zero : forall d0 sums0, digits_within (m :: T) (d0 * 0) sums0 -> digits_within ((c, e) :: m :: T) (d * 0) (0 :: sums0)).
    { intros d0 sums0. rewrite !Z.mul_0_r. intros Q. cbn [digits_within]. rewrite Zmod_0_l, Zdiv_0_l. split; [lia|exact Q]. }
    remember (m :: T) as U eqn:EU. assert (NU : U <> []) by (subst; discriminate).
    assert (Step : walk ((c, e) :: U) s d emitted =
      let next := fun s' d' emitted' out reach =>
        match walk U s' d' emitted' with Some (R, sums) => Some (out ++ R, reach :: sums) | None => None end in
      if s =? 1 then next s (ceil_div d c) emitted [] 0
      else if divides c d then next s (d / c) emitted [] 0
      else if (0 <=? d) && ((s - 1) * d + 1 <=? c) then Some ([(s, d * e)], (s - 1) * d :: map (fun _ => 0) (tl U))
      else if (0 <=? d) && divides d c && divides (c / d) s then next (s / (c / d)) 1 true [(c / d, d * e)] (c - d)
      else None) by (subst; reflexivity).
    rewrite Step in H. clear Step. cbv zeta in H.
    assert (DW : forall x b bs, digits_within ((c, e) :: U) x (b :: bs) <-> 0 <= x mod c <= b /\ digits_within U (x / c) bs)
      by (subst; reflexivity).
    destruct (Z.eqb_spec s 1) as [S1|S1]; [|destruct (divides c d) eqn:Skip; [|
      destruct ((0 <=? d) && ((s - 1) * d + 1 <=? c)) eqn:Inside; [|
      destruct ((0 <=? d) && divides d c && divides (c / d) s) eqn:Fill; [|discriminate]]]].
    + destruct (walk U s (ceil_div d c) emitted) as [[R' X]|] eqn:Q; [|discriminate]. injection H as <- <-.
      destruct (IH _ _ _ _ _ W' Hs Q) as (I1 & I2 & I3 & I4 & I5). cbn [app].
      split; [auto|]. split; [auto|]. split; [auto|]. split; [auto|].
      intros i Hi. assert (i = 0) by lia. subst i. destruct (I5 0 ltac:(lia)) as [J1 J2]. split.
      * rewrite J1, !Z.mul_0_r, !value_0. reflexivity.
      * exact (Zero _ _ J2).
    + destruct (walk U s (d / c) emitted) as [[R' X]|] eqn:Q; [|discriminate]. injection H as <- <-.
      destruct (IH _ _ _ _ _ W' Hs Q) as (I1 & I2 & I3 & I4 & I5). cbn [app].
      destruct (divides_spec c d ltac:(lia) Skip) as (k & ->).
      rewrite Z.mul_comm, Z.div_mul in I5 by lia.
      assert (M : forall i, (c * k * i) mod c = 0) by (intros; replace (c * k * i) with (k * i * c) by ring; apply Z_mod_mult).
      assert (D : forall i, (c * k * i) / c = k * i) by (intros; replace (c * k * i) with (k * i * c) by ring; apply Z.div_mul; lia).
      split; [auto|]. split; [auto|]. split; [auto|]. split; [auto|]. intros i Hi. destruct (I5 i Hi) as [J1 J2]. split.
      * rewrite (value_cons c e U) by auto. rewrite M, D, J1. ring.
      * apply DW. rewrite M, D. split; [lia|auto].
    + injection H as <- <-. apply andb_prop in Inside. destruct Inside as [P Q]. apply Z.leb_le in P, Q.
      split; [repeat constructor; auto|]. split; [cbn; lia|]. split; [discriminate|]. split; [discriminate|].
      intros i Hi. assert (0 <= d * i < c) by nia.
      assert (M : (d * i) mod c = d * i) by (apply Z.mod_small; lia).
      assert (D : (d * i) / c = 0) by (apply Z.div_small; lia). split.
      * rewrite (value_cons c e U) by auto. rewrite M, D, value_0. cbn. ring.
      * apply DW. rewrite M, D. split; [nia|]. apply digits_0; auto.
    + apply andb_prop in Fill. destruct Fill as [Fill F2]. apply andb_prop in Fill. destruct Fill as [P F1]. apply Z.leb_le in P.
      assert (D0 : d <> 0).
      { intros ->. unfold divides in Skip. destruct (c =? 0); [discriminate|]. rewrite Zmod_0_l in Skip. discriminate. }
      destruct (divides_spec d c D0 F1) as (q & Eq). assert (Hq : 1 <= q) by nia.
      assert (Cd : c / d = q) by (rewrite Eq, Z.mul_comm; apply Z.div_mul; auto). rewrite Cd in *.
      destruct (divides_spec q s ltac:(lia) F2) as (t & Es). assert (Ht : 1 <= t) by nia.
      assert (Sq : s / q = t) by (rewrite Es, Z.mul_comm; apply Z.div_mul; lia). rewrite Sq in *.
      destruct (walk U t 1 true) as [[R' X]|] eqn:Q; [|discriminate]. injection H as <- <-.
      destruct (IH _ _ _ _ _ W' Ht Q) as (I1 & I2 & I3 & I4 & I5). cbn [app].
      split; [constructor; auto|]. split; [rewrite size_cons, I2; lia|]. split; [discriminate|]. split; [discriminate|].
      intros i Hi. assert (Hv : 0 <= i mod q < q /\ 0 <= i / q < t) by (apply index_split; lia). destruct Hv as [Hu Hv].
      assert (E : d * i = d * (i mod q) + i / q * c) by (rewrite (Z.div_mod i q) at 1 by lia; rewrite Eq; ring).
      assert (M : (d * i) mod c = d * (i mod q)) by (rewrite E, Z_mod_plus_full, Z.mod_small; nia).
      assert (D : (d * i) / c = i / q) by (rewrite E, Z.div_add, Z.div_small by nia; lia).
      destruct (I5 (i / q) Hv) as [J1 J2]. rewrite Z.mul_1_l in J1, J2. split.
      * rewrite (value_cons c e U) by auto. rewrite M, D. rewrite value_in.
        -- rewrite J1. ring.
        -- constructor; auto.
        -- rewrite size_cons, I2. lia.
      * apply DW. rewrite M, D. split; [nia|auto].
Qed.

Lemma leaf_correct : forall A s d R sums, wf A -> A <> [] -> 1 <= s -> leaf A s d = Some (R, sums) ->
  wf R /\ size R = s /\ R <> [] /\ forall i, 0 <= i < s -> value R i = value A (d * i) /\ digits_within A (d * i) sums.
Proof.
  intros A s d R sums W N Hs H. unfold leaf in H. destruct (Z.eqb_spec d 0).
  - injection H as <- <-. subst. split; [repeat constructor; auto|]. split; [cbn; lia|]. split; [discriminate|]. intros i Hi.
    rewrite Z.mul_0_l, value_0. split; [cbn; lia|apply digits_0; auto].
  - destruct (walk_correct _ _ _ _ _ _ W Hs H) as (H1 & H2 & H3 & _ & H4). auto.
Qed.

(* ---------------------------------------------------------------- A as composition sees it *)
Lemma target_spec : forall A, wf A -> target A <> [] /\ wf (target A) /\ forall x, value (target A) x = value A x.
Proof.
  intros A W. pose proof (coalesced_wf true _ W) as W'. pose proof (fun x => coalesced_unbounded_value A x W) as E. unfold target.
  destruct (coalesced true A) as [|m T].
  - split; [discriminate|]. split; [repeat constructor; cbn; lia|]. intros x. rewrite <- E. cbn. lia.
  - split; [discriminate|]. auto.
Qed.

(* Identity 7, and its size: B of one leaf, any stride. *)
Theorem compose_rank1 : forall A s d R, wf A -> 1 <= s -> compose A [(s, d)] = Some R ->
  size R = s /\ forall i, 0 <= i < s -> value R i = value A (value [(s, d)] i).
Proof.
  intros A s d R W Hs H. destruct (target_spec A W) as (N & W' & E). unfold compose in H. cbn [leaves] in H.
  destruct (leaf (target A) s d) as [[R' X]|] eqn:Q; [|discriminate]. injection H as <-. rewrite app_nil_r.
  destruct (leaf_correct _ _ _ _ _ W' N Hs Q) as (H1 & H2 & _ & H3). split; [auto|]. intros i Hi. destruct (H3 i Hi) as [H4 _].
  rewrite H4, E. cbn. f_equal. ring.
Qed.

(* ---------------------------------------------------------------- all leaves *)
Lemma no_carry_less : forall A X Y, Forall (fun x => 0 <= x) X -> no_carry A (add X Y) = true -> length X = length Y -> no_carry A Y = true.
Proof.
  induction A as [|[c e] A IH]; intros X Y F H L; auto. destruct X as [|x X], Y as [|y Y]; auto; try discriminate.
  cbn in *. apply andb_prop in H. destruct H as [H H']. inversion F; subst. apply Z.leb_le in H. apply andb_true_intro. split.
  - apply Z.leb_le. lia.
  - apply IH with X; auto.
Qed.

Lemma within_length : forall A x b, digits_within A x b -> length b = length (tl A) /\ Forall (fun y => 0 <= y) b.
Proof.
  induction A as [|[c e] [|m T] IH]; intros x b H; [contradiction| |].
  - cbn in H. subst. split; auto.
  - destruct b as [|y b]; [contradiction|]. destruct H as [H1 H2]. destruct (IH _ _ H2). split; [cbn in *; lia|]. constructor; auto. lia.
Qed.

Lemma add_sums : forall X Y, length X = length Y -> Forall (fun y => 0 <= y) X -> Forall (fun y => 0 <= y) Y ->
  length (add X Y) = length X /\ Forall (fun y => 0 <= y) (add X Y).
Proof.
  induction X as [|x X IH]; intros [|y Y] L FX FY; try discriminate; auto. inversion FX; subst. inversion FY; subst. cbn in *.
  destruct (IH Y); auto. split; [lia|]. constructor; auto. lia.
Qed.

Lemma leaves_sums : forall A B R Y, wf A -> A <> [] -> wf B -> leaves A B = Some (R, Y) ->
  length Y = length (tl A) /\ Forall (fun y => 0 <= y) Y.
Proof.
  intros A. induction B as [|[s d] B IH]; intros R Y W N WB H; cbn [leaves] in H.
  - injection H as _ <-. apply (within_length A 0), digits_0; auto.
  - inversion WB as [|? ? Hs WB']; subst. cbn [fst] in Hs.
    destruct (leaf A s d) as [[R0 X]|] eqn:Q; [|discriminate]. destruct (leaves A B) as [[R1 Z]|]; [|discriminate].
    injection H as _ <-. destruct (leaf_correct _ _ _ _ _ W N Hs Q) as (_ & _ & _ & H4).
    destruct (H4 0 ltac:(lia)) as [_ H5]. destruct (within_length _ _ _ H5) as [L F].
    destruct (IH _ _ W N WB' eq_refl) as [L' F']. destruct (add_sums X Z) as [L2 F2]; [congruence|auto|auto|]. split; [congruence|auto].
Qed.

Lemma leaves_correct : forall A B R sums, wf A -> A <> [] -> wf B -> leaves A B = Some (R, sums) -> no_carry A sums = true ->
  wf R /\ size R = size B /\
  forall i, 0 <= i < size B -> value R i = value A (value B i) /\ digits_within A (value B i) sums.
Proof.
  intros A. induction B as [|[s d] B IH]; intros R sums W N WB H C.
  - injection H as <- <-. split; [constructor|]. split; [auto|]. intros i Hi. cbn [value]. rewrite value_0.
    split; [auto|]. apply digits_0; auto.
  - inversion WB as [|? ? Hs WB']; subst. cbn [fst] in Hs. cbn [leaves] in H.
    destruct (leaf A s d) as [[R0 X]|] eqn:Q; [|discriminate]. destruct (leaves A B) as [[R1 Y]|] eqn:P; [|discriminate].
    injection H as <- <-. destruct (leaf_correct _ _ _ _ _ W N Hs Q) as (H1 & H2 & H3 & H4).
    destruct (leaves_sums _ _ _ _ W N WB' P) as [LY FY]. destruct (H4 0 ltac:(lia)) as [_ H5].
    destruct (within_length _ _ _ H5) as [LX FX].
    assert (C' : no_carry A Y = true) by (apply no_carry_less with X; auto; congruence).
    destruct (IH _ _ W N WB' eq_refl C') as (I1 & I2 & I3). pose proof (wf_size _ WB') as PB.
    split; [apply Forall_app; auto|]. split; [rewrite size_app, size_cons, H2, I2; auto|]. intros i Hi.
    rewrite value_app_in by (auto; rewrite H2, I2, <- (size_cons s d B); auto). rewrite (value_in s d B) by auto.
    rewrite size_cons in Hi. destruct (index_split s (size B) i Hs Hi) as [Hx Hy]. rewrite H2.
    destruct (H4 _ Hx) as [J1 J2]. destruct (I3 _ Hy) as [K1 K2]. rewrite J1, K1.
    rewrite (Z.mul_comm d) in *. destruct (value_add A _ _ X Y W J2 K2 C) as [E D]. rewrite E. auto.
Qed.

(* Identities 7, 8 and 12: whatever composition accepts is the composed function, and has the size of B. *)
Theorem compose_correct : forall A B R, wf A -> wf B -> compose A B = Some R ->
  size R = size B /\ forall i, 0 <= i < size B -> value R i = value A (value B i).
Proof.
  intros A [|[s d] [|m B]] R W WB H.
  - cbn in H. injection H as <-. split; [auto|]. intros i Hi. cbn. rewrite value_0. auto.
  - inversion WB; subst. destruct (compose_rank1 A s d R) as [E1 E2]; auto. split; [rewrite E1; cbn; lia|].
    intros i Hi. apply E2. cbn in Hi. lia.
  - destruct (target_spec A W) as (N & W' & E). unfold compose in H.
    destruct (leaves (target A) ((s, d) :: m :: B)) as [[R' sums]|] eqn:Q; [|discriminate].
    assert (L : (Z.of_nat (length ((s, d) :: m :: B)) <? 2) = false) by (apply Z.ltb_ge; cbn [length]; lia).
    rewrite L in H. cbn [orb] in H. destruct (no_carry (target A) sums) eqn:C; [|discriminate]. injection H as <-.
    destruct (leaves_correct _ _ _ _ W' N WB Q C) as (H1 & H2 & H3). split; [auto|].
    intros i Hi. rewrite <- E. apply H3. auto.
Qed.

Lemma compose_wf : forall A B R, wf A -> wf B -> compose A B = Some R -> wf R.
Proof.
  intros A B R W WB H. destruct (target_spec A W) as (N & W' & _). unfold compose in H.
  destruct (leaves (target A) B) as [[R' sums]|] eqn:Q; [|discriminate]. destruct (_ || _); [|discriminate]. injection H as <-.
  clear W. revert R' sums Q. induction B as [|[s d] B IH]; intros R' sums Q; cbn [leaves] in Q; [injection Q as <- _; constructor|].
  inversion WB as [|? ? Hs WB']; subst. destruct (leaf (target A) s d) as [[R0 X]|] eqn:L; [|discriminate].
  destruct (leaves (target A) B) as [[R1 Y]|]; [|discriminate]. injection Q as <- _.
  apply Forall_app. split; [apply (leaf_correct _ _ _ _ _ W' N Hs L)|]. eapply IH; eauto.
Qed.
