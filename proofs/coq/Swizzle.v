(* Swizzles, for every width and every offset, also negative ones.

   source, swizzle      Swizzle::source_mask and operator()      algebra/include/inlay/algebra/swizzle.h *)
Require Import ZArith Lia Bool.
Local Open Scope Z_scope.

(* The bits that are read: b of them from base on, further up by a positive shift. *)
Definition source (b m s : Z) : Z := Z.shiftl (Z.ones b) (m + Z.max s 0).
(* Z.shiftr to the left when s is negative. *)
Definition written (b m s x : Z) : Z := Z.shiftr (Z.land x (source b m s)) s.
Definition swizzle (b m s x : Z) : Z := Z.lxor x (written b m s x).

Lemma source_bit : forall b m s i, 0 <= b -> 0 <= m -> 0 <= i ->
  Z.testbit (source b m s) i = (m + Z.max s 0 <=? i) && (i <? m + Z.max s 0 + b).
Proof.
  intros b m s i Hb Hm Hi. unfold source. rewrite Z.shiftl_spec by lia. destruct (Z.leb_spec (m + Z.max s 0) i).
  - cbn [andb]. destruct (Z.ltb_spec i (m + Z.max s 0 + b)).
    + apply Z.ones_spec_low. lia.
    + apply Z.ones_spec_high. lia.
  - apply Z.testbit_neg_r. lia.
Qed.

(* Bits are written at base, further up by a negative shift. *)
Lemma written_bit : forall b m s x i, 0 <= b -> 0 <= m -> 0 <= i ->
  Z.testbit (written b m s x) i = (m + Z.max (- s) 0 <=? i) && (i <? m + Z.max (- s) 0 + b) && Z.testbit x (i + s).
Proof.
  intros b m s x i Hb Hm Hi. unfold written. rewrite Z.shiftr_spec, Z.land_spec by lia. destruct (Z_lt_le_dec (i + s) 0).
  - rewrite !(Z.testbit_neg_r _ (i + s)) by lia. rewrite !andb_false_r. reflexivity.
  - rewrite source_bit by lia. rewrite andb_comm. f_equal. f_equal.
    + destruct (Z.leb_spec (m + Z.max s 0) (i + s)), (Z.leb_spec (m + Z.max (- s) 0) i); lia.
    + destruct (Z.ltb_spec (i + s) (m + Z.max s 0 + b)), (Z.ltb_spec i (m + Z.max (- s) 0 + b)); lia.
Qed.

(* Identity 45. *)
Theorem swizzle_linear : forall b m s x y, swizzle b m s (Z.lxor x y) = Z.lxor (swizzle b m s x) (swizzle b m s y).
Proof.
  intros. unfold swizzle, written. apply Z.bits_inj'. intros i Hi.
  rewrite !Z.lxor_spec, !Z.shiftr_spec, !Z.land_spec, !Z.lxor_spec by lia.
  destruct (Z.testbit x i), (Z.testbit y i), (Z.testbit x (i + s)), (Z.testbit y (i + s)), (Z.testbit (source b m s) (i + s)); reflexivity.
Qed.

(* Identity 43: where the bits written are not among those read. *)
Theorem swizzle_involution : forall b m s x, 0 <= b -> 0 <= m -> b <= Z.abs s -> swizzle b m s (swizzle b m s x) = x.
Proof.
  intros b m s x Hb Hm Hs. apply Z.bits_inj'. intros i Hi. unfold swizzle at 1. rewrite Z.lxor_spec, written_bit by auto.
  unfold swizzle. rewrite Z.lxor_spec, (written_bit b m s x i) by auto.
  destruct ((m + Z.max (- s) 0 <=? i) && (i <? m + Z.max (- s) 0 + b)) eqn:E; [|cbn; rewrite !xorb_false_r; reflexivity].
  apply andb_prop in E. destruct E as [E1 E2]. apply Z.leb_le in E1. apply Z.ltb_lt in E2.
  destruct (Z_lt_le_dec (i + s) 0) as [N|P].
  - rewrite !(Z.testbit_neg_r _ (i + s)) by lia. cbn. rewrite !xorb_false_r. reflexivity.
  - rewrite Z.lxor_spec, (written_bit b m s x (i + s)) by auto.
    assert (F : (m + Z.max (- s) 0 <=? i + s) && (i + s <? m + Z.max (- s) 0 + b) = false).
    { destruct (Z.leb_spec (m + Z.max (- s) 0) (i + s)), (Z.ltb_spec (i + s) (m + Z.max (- s) 0 + b)); try reflexivity. lia. }
    rewrite F. cbn. rewrite xorb_false_r, xorb_assoc, xorb_nilpotent, xorb_false_r. reflexivity.
Qed.

(* What a swizzle reads and writes lies below 2^(b + m + |s|): above it nothing changes, and nothing above it matters. *)
Lemma written_low : forall b m s x k i, 0 <= b -> 0 <= m -> b + m + Z.abs s <= k -> k <= i -> Z.testbit (written b m s x) i = false.
Proof.
  intros b m s x k i Hb Hm Hk Hi. rewrite written_bit by lia. destruct (Z.ltb_spec i (m + Z.max (- s) 0 + b)); [lia|].
  rewrite andb_false_r. reflexivity.
Qed.

Lemma written_below : forall b m s x y k, 0 <= b -> 0 <= m -> b + m + Z.abs s <= k ->
  (forall i, 0 <= i < k -> Z.testbit x i = Z.testbit y i) -> written b m s x = written b m s y.
Proof.
  intros b m s x y k Hb Hm Hk H. apply Z.bits_inj'. intros i Hi. rewrite !written_bit by auto.
  destruct ((m + Z.max (- s) 0 <=? i) && (i <? m + Z.max (- s) 0 + b)) eqn:E; auto.
  apply andb_prop in E. destruct E as [E1 E2]. apply Z.leb_le in E1. apply Z.ltb_lt in E2. f_equal.
  destruct (Z_lt_le_dec (i + s) 0); [rewrite !Z.testbit_neg_r by lia; auto|]. apply H. lia.
Qed.

(* Identity 46: whole blocks are translated. *)
Theorem swizzle_translation : forall b m s k x y, 0 <= b -> 0 <= m -> b + m + Z.abs s <= k ->
  swizzle b m s (x + y * 2 ^ k) = swizzle b m s x + y * 2 ^ k.
Proof.
  intros b m s k x y Hb Hm Hk. assert (P : 0 < 2 ^ k) by (apply Z.pow_pos_nonneg; lia). unfold swizzle.
  rewrite (written_below b m s (x + y * 2 ^ k) x k); auto.
  2: { intros i Hi. rewrite <- (Z.mod_pow2_bits_low x k i), <- (Z.mod_pow2_bits_low (x + y * 2 ^ k) k i) by lia. rewrite Z_mod_plus_full. reflexivity. }
  set (w := written b m s x).
  assert (Hw : w / 2 ^ k = 0).
  { rewrite <- Z.shiftr_div_pow2 by lia. apply Z.bits_inj'. intros i Hi. rewrite Z.shiftr_spec, Z.bits_0 by auto. apply (written_low b m s x k); lia. }
  assert (D : forall a, Z.lxor a w / 2 ^ k = a / 2 ^ k).
  { intros a. rewrite <- !Z.shiftr_div_pow2 by lia. rewrite Z.shiftr_lxor. rewrite (Z.shiftr_div_pow2 w), Hw by lia. apply Z.lxor_0_r. }
  assert (M : forall a, Z.lxor a w mod 2 ^ k = Z.lxor (a mod 2 ^ k) w).
  { intros a. apply Z.bits_inj'. intros i Hi. rewrite Z.lxor_spec. destruct (Z_lt_le_dec i k).
    - rewrite !Z.mod_pow2_bits_low, Z.lxor_spec by lia. reflexivity.
    - rewrite !Z.mod_pow2_bits_high by lia. unfold w. rewrite (written_low b m s x k i) by lia. reflexivity. }
  rewrite (Z.div_mod (Z.lxor (x + y * 2 ^ k) w) (2 ^ k)), (Z.div_mod (Z.lxor x w) (2 ^ k)) at 1 by lia.
  rewrite !D, !M, Z_mod_plus_full, Z.div_add by lia. ring.
Qed.

(* Identity 47: neither writes what the other reads. *)
Theorem swizzle_commute : forall b m s b' m' s' x, (forall y, Z.land (written b m s y) (source b' m' s') = 0) ->
  (forall y, Z.land (written b' m' s' y) (source b m s) = 0) ->
  swizzle b m s (swizzle b' m' s' x) = swizzle b' m' s' (swizzle b m s x).
Proof.
  intros b m s b' m' s' x H H'.
  assert (G : forall b m s z v, Z.land v (source b m s) = 0 -> written b m s (Z.lxor z v) = written b m s z).
  { intros b0 m0 s0 z v E. unfold written. f_equal. apply Z.bits_inj'. intros i Hi. rewrite !Z.land_spec, Z.lxor_spec.
    assert (B : Z.testbit v i && Z.testbit (source b0 m0 s0) i = false) by (rewrite <- Z.land_spec, E; apply Z.bits_0).
    destruct (Z.testbit z i), (Z.testbit v i), (Z.testbit (source b0 m0 s0) i); auto; discriminate. }
  unfold swizzle at 1 3. unfold swizzle. rewrite !G by auto. rewrite !Z.lxor_assoc. f_equal. apply Z.lxor_comm.
Qed.

(* Identity 44, where 43 holds: a block goes onto itself. *)
Theorem swizzle_block : forall b m s k x, 0 <= b -> 0 <= m -> b <= Z.abs s -> b + m + Z.abs s <= k -> 0 <= x < 2 ^ k ->
  0 <= swizzle b m s x < 2 ^ k /\ swizzle b m s (swizzle b m s x) = x.
Proof.
  intros b m s k x Hb Hm Hs Hk Hx. split; [|apply swizzle_involution; auto].
  assert (E : swizzle b m s x / 2 ^ k = 0).
  { rewrite <- Z.shiftr_div_pow2 by lia. apply Z.bits_inj'. intros i Hi. unfold swizzle.
    rewrite Z.shiftr_spec, Z.lxor_spec, Z.bits_0, (written_low b m s x k) by lia. rewrite xorb_false_r.
    rewrite <- (Z.mod_small x (2 ^ k)) by lia. apply Z.mod_pow2_bits_high. lia. }
  assert (P : 0 < 2 ^ k) by (apply Z.pow_pos_nonneg; lia).
  pose proof (Z.div_mod (swizzle b m s x) (2 ^ k) ltac:(lia)) as Q. rewrite E in Q. pose proof (Z.mod_pos_bound (swizzle b m s x) (2 ^ k) P). lia.
Qed.

(* Identity 48: on elements of 2^k bytes the base is k less. *)
Theorem swizzle_units : forall b m s k x, 0 <= b -> 0 <= k <= m ->
  swizzle b m s (Z.shiftl x k) = Z.shiftl (swizzle b (m - k) s x) k.
Proof.
  intros b m s k x Hb Hk. apply Z.bits_inj'. intros i Hi. unfold swizzle. rewrite Z.lxor_spec, written_bit by lia.
  destruct (Z_lt_le_dec i k).
  - rewrite (Z.shiftl_spec_low x), (Z.shiftl_spec_low (Z.lxor _ _)) by auto. destruct (Z.leb_spec (m + Z.max (- s) 0) i); [lia|]. reflexivity.
  - rewrite (Z.shiftl_spec (Z.lxor _ _)), Z.lxor_spec, (written_bit b (m - k)), (Z.shiftl_spec x k i) by lia. f_equal. f_equal.
    + f_equal; [destruct (Z.leb_spec (m + Z.max (- s) 0) i), (Z.leb_spec (m - k + Z.max (- s) 0) (i - k)); lia|].
      destruct (Z.ltb_spec i (m + Z.max (- s) 0 + b)), (Z.ltb_spec (i - k) (m - k + Z.max (- s) 0 + b)); lia.
    + destruct (Z_lt_le_dec (i + s) 0); [rewrite !Z.testbit_neg_r by lia; reflexivity|].
      rewrite Z.shiftl_spec by lia. f_equal. lia.
Qed.
