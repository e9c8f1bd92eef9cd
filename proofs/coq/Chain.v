(* Which layouts are injective, and which are bijections onto [0, size), for every rank.

   chain       stride_chain                                       solver/flat.cpp; the verdict "stride chain" of prove_bijective
   dominated   dominated                                          solver/image.cpp; the verdict "domination" of prove_injective

   The order of the modes does not matter to either: the values of a layout are a sum of sets, one a mode, so that
   permuting modes permutes the list of values. *)
Require Import ZArith List Lia Permutation.
Require Import Value.
Import ListNotations.
Local Open Scope Z_scope.

Definition injective (L : list mode) : Prop :=
  forall i j, 0 <= i < size L -> 0 <= j < size L -> value L i = value L j -> i = j.

(* Injective, and the values are exactly 0 .. size-1. *)
Definition bijective (L : list mode) : Prop :=
  injective L /\ forall v, 0 <= v < size L <-> exists i, 0 <= i < size L /\ value L i = v.

(* Each stride is the product of the extents before it, times p. *)
Fixpoint chain (p : Z) (L : list mode) : Prop :=
  match L with [] => True | (s, d) :: T => d = p /\ chain (s * p) T end.

(* The chain with gaps: each stride is at least what the mode before it spans. *)
Fixpoint gaps (p : Z) (L : list mode) : Prop :=
  match L with [] => True | (s, d) :: T => p <= d /\ gaps (s * d) T end.

(* Each stride exceeds the largest sum of the modes before it, r. *)
Fixpoint dominated (r : Z) (L : list mode) : Prop :=
  match L with [] => True | (s, d) :: T => r < d /\ dominated (r + (s - 1) * d) T end.

(* ---------------------------------------------------------------- the list of values *)
Definition range (n : Z) : list Z := map Z.of_nat (seq 0 (Z.to_nat n)).
Definition sums (X Y : list Z) : list Z := flat_map (fun y => map (fun x => x + y) X) Y.
Definition multiples (m : mode) : list Z := map (fun x => x * snd m) (range (fst m)).
Definition image (L : list mode) : list Z := fold_right (fun m I => sums (multiples m) I) [0] L.

Lemma in_range : forall n x, In x (range n) <-> 0 <= x < n.
Proof.
  intros. unfold range. rewrite in_map_iff. split.
  - intros (k & E & H). apply in_seq in H. lia.
  - intros H. exists (Z.to_nat x). split; [lia|]. apply in_seq. lia.
Qed.

Lemma range_length : forall n, length (range n) = Z.to_nat n.
Proof. intros. unfold range. rewrite map_length, seq_length. reflexivity. Qed.

Lemma range_nodup : forall n, NoDup (range n).
Proof. intros. unfold range. apply FinFun.Injective_map_NoDup; [intros x y; lia|apply seq_NoDup]. Qed.

Lemma range_app : forall a b, 0 <= a -> 0 <= b -> range (a + b) = range a ++ map (fun x => x + a) (range b).
Proof.
  intros. unfold range. rewrite Z2Nat.inj_add, seq_app, map_app by lia. f_equal. cbn [plus]. rewrite map_map.
  rewrite <- (Nat.add_0_r (Z.to_nat a)) at 1. rewrite <- (Nat.add_comm 0%nat).
  generalize (Z.to_nat b) as n. intros n. cbn [plus].
  transitivity (map Z.of_nat (map (fun x => (x + Z.to_nat a)%nat) (seq 0 n))).
  - f_equal. clear. induction n; auto. rewrite !seq_S, map_app, IHn. cbn. f_equal. f_equal. lia.
  - rewrite map_map. apply map_ext. intros. lia.
Qed.

Lemma range_mul : forall s n, 0 <= s -> 0 <= n ->
  range (s * n) = flat_map (fun v => map (fun u => u + s * v) (range s)) (range n).
Proof.
  intros s n Hs Hn. rewrite <- (Z2Nat.id n Hn). generalize (Z.to_nat n) as k. clear n Hn. induction k.
  - rewrite Z.mul_0_r. reflexivity.
  - rewrite Nat2Z.inj_succ, Z.mul_succ_r, range_app by lia. rewrite IHk.
    unfold Z.succ at 1. rewrite (range_app (Z.of_nat k) 1) by lia. rewrite flat_map_app. f_equal.
    change (range 1) with [0]. cbn [map flat_map]. rewrite app_nil_r. apply map_ext. intros. lia.
Qed.

Lemma flat_map_map : forall A B C (f : B -> list C) (g : A -> B) l, flat_map f (map g l) = flat_map (fun x => f (g x)) l.
Proof. induction l as [|a l IH]; cbn; congruence. Qed.

Lemma map_flat_map : forall A B C (f : B -> C) (g : A -> list B) l, map f (flat_map g l) = flat_map (fun x => map f (g x)) l.
Proof. induction l as [|a l IH]; cbn; [reflexivity|]. rewrite map_app. congruence. Qed.

Lemma image_values : forall L, wf L -> image L = map (value L) (range (size L)).
Proof.
  induction L as [|[s d] T IH]; intros W; [reflexivity|]. inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs.
  pose proof (wf_size _ W') as P. rewrite size_cons, range_mul by lia.
  change (image ((s, d) :: T)) with (sums (multiples (s, d)) (image T)). rewrite IH by auto. unfold sums, multiples. cbn [fst snd].
  rewrite flat_map_map, map_flat_map.
  assert (E : forall l, incl l (range (size T)) ->
     flat_map (fun x => map (fun x0 => x0 + value T x) (map (fun x0 => x0 * d) (range s))) l =
     flat_map (fun x => map (value ((s, d) :: T)) (map (fun u => u + s * x) (range s))) l).
  { induction l as [|v l IHl]; intros Hl; auto. cbn [flat_map]. rewrite IHl by (intros a Ha; apply Hl; right; auto).
    f_equal. rewrite !map_map. apply map_ext_in. intros u Hu. apply in_range in Hu.
    assert (Hv : 0 <= v < size T) by (apply in_range, Hl; left; auto).
    rewrite value_in by (auto; rewrite size_cons; nia).
    rewrite (Z.mul_comm s v), Z_mod_plus_full, Z.mod_small, Z.div_add, Z.div_small by lia. f_equal. }
  apply E. apply incl_refl.
Qed.

(* ---------------------------------------------------------------- permuting modes permutes values *)
Lemma sums_cons_r : forall X y Y, sums X (y :: Y) = map (fun x => x + y) X ++ sums X Y.
Proof. reflexivity. Qed.

Lemma sums_app_r : forall X Y Z, sums X (Y ++ Z) = sums X Y ++ sums X Z.
Proof. intros. unfold sums. apply flat_map_app. Qed.

Lemma sums_cons_l : forall x X Y, Permutation (sums (x :: X) Y) (map (fun y => x + y) Y ++ sums X Y).
Proof.
  induction Y as [|y Y IH]; [reflexivity|]. rewrite !sums_cons_r. cbn [map app]. constructor. rewrite IH.
  rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
Qed.

Lemma sums_shift : forall X Y z, Permutation (sums X (map (fun y => y + z) Y)) (sums Y (map (fun x => x + z) X)).
Proof.
  induction Y as [|y Y IH]; intros z.
  - cbn. induction X as [|x X IH]; auto.
  - cbn [map]. rewrite sums_cons_r, sums_cons_l, IH. apply Permutation_app_tail. rewrite map_map.
    erewrite map_ext; [reflexivity|]. intros. cbn. lia.
Qed.

Lemma sums_swap : forall X Y Z, Permutation (sums X (sums Y Z)) (sums Y (sums X Z)).
Proof.
  induction Z as [|z Z IH]; auto. rewrite !sums_cons_r, !sums_app_r, IH. apply Permutation_app_tail, sums_shift.
Qed.

Lemma sums_permutation : forall X Y Z, Permutation Y Z -> Permutation (sums X Y) (sums X Z).
Proof. intros. unfold sums. apply Permutation_flat_map; auto. Qed.

Theorem image_permutation : forall L M, Permutation L M -> Permutation (image L) (image M).
Proof.
  induction 1; auto.
  - apply sums_permutation; auto.
  - apply sums_swap.
  - etransitivity; eauto.
Qed.

Lemma wf_permutation : forall L M, Permutation L M -> wf L -> wf M.
Proof. intros L M P W. unfold wf in *. rewrite Forall_forall in *. intros m H. apply W. eapply Permutation_in; [symmetry|]; eauto. Qed.

Lemma size_permutation : forall L M, Permutation L M -> size L = size M.
Proof. induction 1 as [|[s d]| [s d] [t e]|]; rewrite ?size_cons in *; try lia; reflexivity. Qed.

Lemma image_used : forall L, wf L -> image (used false L) = image L.
Proof.
  intros L W. rewrite !image_values by (auto; apply used_wf; auto). rewrite used_size by auto.
  apply map_ext_in. intros i H. apply used_value; [auto|apply in_range; auto].
Qed.

(* ---------------------------------------------------------------- injective and bijective, said of the list *)
Lemma nodup_map : forall (f : Z -> Z) l, NoDup l -> (forall x y, In x l -> In y l -> f x = f y -> x = y) -> NoDup (map f l).
Proof.
  induction l as [|a l IH]; intros N F; cbn; constructor; inversion N; subst.
  - intros H. apply in_map_iff in H. destruct H as (b & E & H). apply F in E; [subst; auto|right; auto|left; auto].
  - apply IH; auto. intros. apply F; auto; right; auto.
Qed.

Lemma nodup_map_inv : forall (f : Z -> Z) l x y, NoDup (map f l) -> In x l -> In y l -> f x = f y -> x = y.
Proof.
  induction l as [|a l IH]; intros x y N Hx Hy E; [contradiction|]. cbn in N. inversion N; subst.
  destruct Hx as [Hx|Hx], Hy as [Hy|Hy]; subst; auto.
  - exfalso. apply H1. rewrite E. apply in_map; auto.
  - exfalso. apply H1. rewrite <- E. apply in_map; auto.
Qed.

Lemma injective_image : forall L, wf L -> (injective L <-> NoDup (image L)).
Proof.
  intros L W. rewrite image_values by auto. split.
  - intros I. apply nodup_map; [apply range_nodup|]. intros x y Hx Hy. apply in_range in Hx, Hy. apply I; auto.
  - intros N i j Hi Hj. apply in_range in Hi, Hj. apply nodup_map_inv with (1 := N); auto.
Qed.

Lemma in_image : forall L v, wf L -> (In v (image L) <-> exists i, 0 <= i < size L /\ value L i = v).
Proof.
  intros L v W. rewrite image_values by auto. rewrite in_map_iff. split; intros (i & H1 & H2); exists i.
  - apply in_range in H2. auto.
  - split; [auto|apply in_range; auto].
Qed.

Theorem bijective_image : forall L, wf L -> (bijective L <-> Permutation (image L) (range (size L))).
Proof.
  intros L W. unfold bijective. rewrite injective_image by auto. split.
  - intros [N O]. apply NoDup_Permutation; auto using range_nodup. intros v. rewrite in_range, in_image by auto. symmetry. apply O.
  - intros P. split; [eapply Permutation_NoDup; [symmetry; eauto|apply range_nodup]|].
    intros v. rewrite <- in_range, <- in_image by auto. split; apply Permutation_in; auto; symmetry; auto.
Qed.

(* ---------------------------------------------------------------- chain *)
Lemma chain_value : forall C p i, wf C -> chain p C -> 0 <= i < size C -> value C i = p * i.
Proof.
  induction C as [|[s d] C IH]; intros p i W H Hi.
  - cbn in *. assert (i = 0) by lia. subst. lia.
  - inversion W as [|? ? Hs W']; subst. destruct H as [H1 H2]. subst d. rewrite value_in by auto. rewrite size_cons in Hi.
    destruct (index_split s (size C) i Hs Hi). rewrite (IH (s * p)) by auto. rewrite (Z.div_mod i s) at 3 by (cbn in Hs; lia). ring.
Qed.

(* Identity 41, if. *)
Theorem chain_bijective : forall L C, wf L -> Permutation (used false L) C -> chain 1 C -> bijective L.
Proof.
  intros L C W P H. pose proof (wf_permutation _ _ P (used_wf false _ W)) as WC.
  apply bijective_image; auto. rewrite <- image_used by auto. rewrite (image_permutation _ _ P).
  rewrite <- (used_size L W), (size_permutation _ _ P). rewrite image_values by auto.
  rewrite (map_ext_in _ (fun i => i)); [rewrite map_id; reflexivity|].
  intros i Hi. apply in_range in Hi. rewrite (chain_value C 1) by auto. lia.
Qed.

(* ---------------------------------------------------------------- domination *)
Lemma dominated_unique : forall C r u v i j, wf C -> 0 <= r -> dominated r C ->
  0 <= u <= r -> 0 <= v <= r -> 0 <= i < size C -> 0 <= j < size C -> u + value C i = v + value C j -> u = v /\ i = j.
Proof.
  induction C as [|[s d] C IH]; intros r u v i j W Hr H Hu Hv Hi Hj E.
  - cbn in *. lia.
  - inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs. destruct H as [H1 H2]. rewrite !value_in in E by auto.
    rewrite size_cons in Hi, Hj. destruct (index_split s (size C) i Hs Hi) as [Hx Hi'], (index_split s (size C) j Hs Hj) as [Hy Hj'].
    destruct (IH (r + (s - 1) * d) (u + i mod s * d) (v + j mod s * d) (i / s) (j / s)) as [E1 E2]; auto; try nia.
    assert (i mod s = j mod s) by nia. split; [nia|]. rewrite (Z.div_mod i s), (Z.div_mod j s) by lia. congruence.
Qed.

(* Identity 42. *)
Theorem dominated_injective : forall L C, wf L -> Permutation (used false L) C -> dominated 0 C -> injective L.
Proof.
  intros L C W P H. pose proof (wf_permutation _ _ P (used_wf false _ W)) as WC.
  apply injective_image; auto. rewrite <- image_used by auto.
  apply Permutation_NoDup with (l := image C); [apply image_permutation; symmetry; auto|]. apply injective_image; auto.
  intros i j Hi Hj E. apply (dominated_unique C 0 0 0 i j); auto; lia.
Qed.

Lemma gaps_dominated : forall C p r, wf C -> 0 <= r < p -> gaps p C -> dominated r C.
Proof.
  induction C as [|[s d] C IH]; intros p r W H G; [exact I|]. inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs.
  destruct G as [G1 G2]. split; [lia|]. apply (IH (s * d)); auto. nia.
Qed.

Theorem gaps_injective : forall L C, wf L -> Permutation (used false L) C -> gaps 1 C -> injective L.
Proof. intros L C W P G. apply dominated_injective with C; auto. apply gaps_dominated with 1; auto; [|lia].
  eapply wf_permutation; eauto. apply used_wf; auto. Qed.

(* Sorted by stride, a chain with gaps is strictly increasing, by at least its first stride. *)
Theorem gaps_increasing : forall C p i j, wf C -> gaps p C -> 0 <= p -> 0 <= i < j -> j < size C -> value C i + p <= value C j.
Proof.
  induction C as [|[s d] C IH]; intros p i j W G Hp Hi Hj; [cbn in Hj; lia|]. inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs.
  destruct G as [G1 G2]. rewrite size_cons in Hj. rewrite !value_in by (auto; rewrite size_cons; lia).
  destruct (index_split s (size C) i Hs) as [Hx Hi']; [lia|]. destruct (index_split s (size C) j Hs) as [Hy Hj']; [lia|].
  pose proof (Z.div_le_mono i j s ltac:(lia) ltac:(lia)). pose proof (Z.div_mod i s ltac:(lia)). pose proof (Z.div_mod j s ltac:(lia)).
  destruct (Z.eq_dec (i / s) (j / s)) as [E|E].
  - rewrite E in *. nia.
  - pose proof (IH (s * d) (i / s) (j / s) W' G2 ltac:(nia) ltac:(lia) ltac:(lia)). nia.
Qed.
