(* Which layouts are injective, and which are bijections onto [0, size), for every rank.

   stride_chain   stride_chain          solver/flat.cpp; the verdict "stride chain" of prove_bijective
   domination     the sorted test of check_injective, and dominated()   solver/image.cpp; "domination" of prove_injective

   The order of the modes does not matter to either: the values of a layout are a sum of sets, one a mode, so that
   permuting modes permutes the list of values. *)
Require Import ZArith List Lia Bool Permutation.
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
  match L with [] => True | (s, d) :: T => d = p /\ chain (p * s) T end.

(* The chain with gaps: each stride is at least what the mode before it spans. *)
Fixpoint gaps (p : Z) (L : list mode) : Prop :=
  match L with [] => True | (s, d) :: T => p <= d /\ gaps (s * d) T end.

(* Each stride exceeds the largest sum of the modes before it, r; the sign does not matter. *)
Fixpoint dominated (r : Z) (L : list mode) : bool :=
  match L with [] => true | (s, d) :: T => (r <? Z.abs d) && dominated (r + (s - 1) * Z.abs d) T end.

(* Insertion sort; equal keys keep their order. *)
Fixpoint insert (key : mode -> Z) (m : mode) (L : list mode) : list mode :=
  match L with [] => [m] | h :: T => if key m <? key h then m :: h :: T else h :: insert key m T end.
Definition sort (key : mode -> Z) (L : list mode) : list mode := fold_left (fun sorted m => insert key m sorted) L [].

Definition domination (L : list mode) : bool := dominated 0 (sort (fun m => Z.abs (snd m)) (used false L)).

(* The first mode of stride p, and the others. *)
Fixpoint take (p : Z) (L : list mode) : option (mode * list mode) :=
  match L with
  | [] => None
  | (s, d) :: T => if d =? p then Some ((s, d), T) else
      match take p T with Some (m, R) => Some (m, (s, d) :: R) | None => None end
  end.

(* One mode after the other, each with the product so far as its stride. *)
Fixpoint next_modes (steps : nat) (p : Z) (L : list mode) : option (list mode) :=
  match L, steps with
  | [], _ => Some []
  | _, O => None
  | _, S k =>
      match take p L with
      | Some ((s, d), R) => match next_modes k (p * s) R with Some C => Some ((s, d) :: C) | None => None end
      | None => None
      end
  end.
Definition stride_chain (L : list mode) : option (list mode) := next_modes (length (used false L)) 1 (used false L).

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
    destruct (index_split s (size C) i Hs Hi). rewrite (IH (p * s)) by auto. rewrite (Z.div_mod i s) at 3 by (cbn in Hs; lia). ring.
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
Lemma dominated_unique : forall C r u i j, wf C -> dominated r C = true ->
  Z.abs u <= r -> 0 <= i < size C -> 0 <= j < size C -> u + value C i = value C j -> u = 0 /\ i = j.
Proof.
  induction C as [|[s d] C IH]; intros r u i j W H Hu Hi Hj E.
  - cbn in *. lia.
  - inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs. cbn [dominated] in H. apply andb_prop in H. destruct H as [H1 H2].
    apply Z.ltb_lt in H1. rewrite !value_in in E by auto.
    rewrite size_cons in Hi, Hj. destruct (index_split s (size C) i Hs Hi) as [Hx Hi'], (index_split s (size C) j Hs Hj) as [Hy Hj'].
    destruct (IH (r + (s - 1) * Z.abs d) (u + (i mod s - j mod s) * d) (i / s) (j / s)) as [E1 E2]; auto; try nia.
    assert (i mod s = j mod s) by nia. split; [nia|]. rewrite (Z.div_mod i s), (Z.div_mod j s) by lia. congruence.
Qed.

(* Identity 42, in any order in which it holds. *)
Theorem dominated_injective : forall L C, wf L -> Permutation (used false L) C -> dominated 0 C = true -> injective L.
Proof.
  intros L C W P H. pose proof (wf_permutation _ _ P (used_wf false _ W)) as WC.
  apply injective_image; auto. rewrite <- image_used by auto.
  apply Permutation_NoDup with (l := image C); [apply image_permutation; symmetry; auto|]. apply injective_image; auto.
  intros i j Hi Hj E. apply (dominated_unique C 0 0 i j); auto; lia.
Qed.

Lemma insert_permutation : forall key m L, Permutation (insert key m L) (m :: L).
Proof.
  induction L as [|h T IH]; cbn; auto. destruct (key m <? key h); auto. rewrite IH. apply perm_swap.
Qed.

Lemma sort_permutation : forall key L, Permutation (sort key L) L.
Proof.
  intros key.
  assert (G : forall L A, Permutation (fold_left (fun sorted m => insert key m sorted) L A) (A ++ L)).
  { induction L as [|m L IH]; intros A; cbn; [rewrite app_nil_r; auto|]. rewrite IH, insert_permutation. apply Permutation_middle. }
  intros. unfold sort. apply (G L []).
Qed.

Theorem domination_injective : forall L, wf L -> domination L = true -> injective L.
Proof. intros L W. apply dominated_injective; auto. symmetry. apply sort_permutation. Qed.

Lemma gaps_dominated : forall C p r, wf C -> 0 <= r < p -> gaps p C -> dominated r C = true.
Proof.
  induction C as [|[s d] C IH]; intros p r W H G; [reflexivity|]. inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs.
  destruct G as [G1 G2]. cbn [dominated]. apply andb_true_intro. split; [apply Z.ltb_lt; lia|]. apply (IH (s * d)); auto. nia.
Qed.

Theorem gaps_injective : forall L C, wf L -> Permutation (used false L) C -> gaps 1 C -> injective L.
Proof.
  intros L C W P G. apply dominated_injective with C; auto. apply gaps_dominated with 1; auto; [|lia].
  eapply wf_permutation; eauto. apply used_wf; auto.
Qed.

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

(* ---------------------------------------------------------------- only chains are bijections *)
Lemma sums_assoc : forall X Y Z, sums X (sums Y Z) = sums (sums X Y) Z.
Proof.
  induction Z as [|z Z IH]; auto. rewrite !sums_cons_r, sums_app_r, IH. f_equal. unfold sums.
  rewrite flat_map_map, map_flat_map. apply flat_map_ext. intros y. rewrite map_map. apply map_ext. intros x. lia.
Qed.

Lemma in_sums : forall X Y z, In z (sums X Y) <-> exists x y, In x X /\ In y Y /\ z = x + y.
Proof.
  intros. unfold sums. rewrite in_flat_map. split.
  - intros (y & Hy & H). apply in_map_iff in H. destruct H as (x & E & Hx). eauto.
  - intros (x & y & Hx & Hy & E). exists y. split; auto. apply in_map_iff. eauto.
Qed.

Lemma zero_in_image : forall L, wf L -> In 0 (image L).
Proof.
  intros L W. apply in_image; auto. exists 0. split; [pose proof (wf_size _ W); lia|apply value_0].
Qed.

Lemma stride_in_image : forall L s d, wf L -> In (s, d) L -> 2 <= s -> In d (image L).
Proof.
  intros L s d W H Hs. apply in_split in H. destruct H as (A & B & ->).
  apply Permutation_in with (image ((s, d) :: A ++ B)); [apply image_permutation; symmetry; symmetry; apply Permutation_middle|].
  change (image ((s, d) :: A ++ B)) with (sums (multiples (s, d)) (image (A ++ B))). apply in_sums. exists d, 0.
  split; [|split; [apply zero_in_image|lia]].
  - apply in_map_iff. exists 1. cbn [fst snd]. split; [lia|]. apply in_range. lia.
  - apply (wf_permutation _ ((s, d) :: A ++ B)) in W; [inversion W; auto|symmetry; apply Permutation_middle].
Qed.

Lemma nodup_app : forall (X Y : list Z) x, NoDup (X ++ Y) -> In x X -> In x Y -> False.
Proof.
  induction X as [|a X IH]; intros Y x N HX HY; [contradiction|]. inversion N; subst. destruct HX as [->|HX].
  - apply H1. apply in_or_app. auto.
  - eapply IH; eauto.
Qed.

Lemma nodup_parts : forall X Y : list Z, NoDup (X ++ Y) -> NoDup X /\ NoDup Y.
Proof.
  induction X as [|a X IH]; intros Y N; [split; [constructor|auto]|]. inversion N; subst. destruct (IH Y H2). split; auto.
  constructor; auto. intros H'. apply H1. apply in_or_app. auto.
Qed.

(* A sum that is taken once is taken from one pair. *)
Lemma sums_unique : forall X Y x y x' y', NoDup (sums X Y) -> In x X -> In x' X -> In y Y -> In y' Y -> x + y = x' + y' -> y = y'.
Proof.
  intros X Y x y x' y' N Hx Hx' Hy Hy' E. destruct (Z.eq_dec y y') as [|D]; auto. exfalso.
  apply in_split in Hy. destruct Hy as (A & B & ->).
  assert (P : Permutation (sums X (A ++ y :: B)) (map (fun a => a + y) X ++ sums X (A ++ B))).
  { rewrite <- sums_cons_r. apply sums_permutation. symmetry. apply Permutation_middle. }
  apply (Permutation_NoDup P) in N. apply (nodup_app _ _ (x + y) N).
  - apply in_map_iff. eauto.
  - apply in_sums. exists x', y'. split; auto. split; [|auto]. apply in_app_or in Hy'. apply in_or_app. destruct Hy' as [|[|]]; auto. congruence.
Qed.

Lemma nodup_sums_l : forall X Y y, NoDup (sums X Y) -> In y Y -> NoDup X.
Proof.
  intros X Y y N H. apply in_split in H. destruct H as (A & B & ->). unfold sums in N. rewrite flat_map_app in N.
  apply nodup_parts in N. destruct N as [_ N]. cbn [flat_map] in N. apply nodup_parts in N. destruct N as [N _]. eapply NoDup_map_inv; eauto.
Qed.

Lemma nodup_sums_r : forall X Y x, NoDup (sums X Y) -> In x X -> NoDup Y.
Proof.
  intros X Y x N H. apply in_split in H. destruct H as (A & B & ->).
  assert (P : Permutation (sums (A ++ x :: B) Y) (map (fun y => x + y) Y ++ sums (A ++ B) Y)).
  { rewrite <- sums_cons_l. pose proof (sums_shift (A ++ x :: B) Y 0) as Q. pose proof (sums_shift (x :: A ++ B) Y 0) as R.
    assert (E : forall l, map (fun x => x + 0) l = l) by (intros; rewrite (map_ext _ (fun x => x)) by (intros; lia); apply map_id).
    rewrite !E in Q, R. rewrite Q, R. apply sums_permutation. symmetry. apply Permutation_middle. }
  apply (Permutation_NoDup P) in N. apply nodup_parts in N. destruct N as [N _]. eapply NoDup_map_inv; eauto.
Qed.

(* If no stride is below p, p is a value only as a stride. *)
Lemma least_stride : forall L p, 1 <= p -> wf L -> Forall (fun m => p <= snd m) L -> In p (image L) -> exists s, In (s, p) L.
Proof.
  induction L as [|[s d] L IH]; intros p Hp W F H.
  - cbn in H. lia.
  - inversion W as [|? ? Hs W1]; subst. inversion F as [|? ? Hd F1]; subst. cbn [fst snd] in *.
    change (image ((s, d) :: L)) with (sums (multiples (s, d)) (image L)) in H. apply in_sums in H. destruct H as (x & y & Hx & Hy & E).
    apply in_map_iff in Hx. destruct Hx as (k & Ek & Hk). cbn [fst snd] in Ek, Hk. apply in_range in Hk.
    assert (0 <= y).
    { apply in_image in Hy; auto. destruct Hy as (i & Hi & <-). clear - W1 F1 Hi Hp. revert i Hi.
      induction L as [|[t e] L IH]; intros i Hi; [cbn; lia|]. inversion W1 as [|? ? Ht W2]; subst. inversion F1 as [|? ? He F2]; subst.
      cbn [fst snd] in *. rewrite value_in by auto. rewrite size_cons in Hi. destruct (index_split t (size L) i Ht Hi).
      pose proof (IH W2 F2 (i / t) ltac:(auto)). nia. }
    destruct (Z.eq_dec k 0).
    + subst k. assert (y = p) by lia. subst y. destruct (IH p) as (t & Ht); auto. exists t. right. auto.
    + exists s. left. f_equal. nia.
Qed.

Lemma take_spec : forall p L, (exists s, In (s, p) L) -> exists s R, take p L = Some ((s, p), R) /\ Permutation L ((s, p) :: R).
Proof.
  induction L as [|[t d] L IH]; intros (s & H); [contradiction|]. cbn [take]. destruct (Z.eqb_spec d p); [subst; eauto|].
  destruct H as [H|H]; [congruence|]. destruct IH as (s' & R & E & P); [eauto|]. rewrite E. exists s', ((t, d) :: R). split; auto.
  rewrite P. apply perm_swap.
Qed.

Lemma next_modes_found : forall steps p L, (length L <= steps)%nat -> 1 <= p -> Forall (fun m => 2 <= fst m) L ->
  Permutation (sums (range p) (image L)) (range (p * size L)) -> exists C, next_modes steps p L = Some C.
Proof.
  induction steps as [|k IH]; intros p L Hk Hp F P; destruct L as [|m L]; try (cbn; eauto; fail); [cbn in Hk; lia|].
  remember (m :: L) as U. assert (W : wf U) by (clear - F; unfold wf; induction F; constructor; auto; lia).
  assert (N : NoDup (sums (range p) (image U))) by (eapply Permutation_NoDup; [symmetry; exact P|apply range_nodup]).
  pose proof (wf_size _ W) as S1.
  assert (Z0 : In 0 (range p)) by (apply in_range; lia). pose proof (zero_in_image _ W) as I0.
  pose proof (nodup_sums_r _ _ _ N Z0) as NI.
  assert (Small : forall y, In y (image U) -> y = 0 \/ p <= y).
  { intros y Hy. assert (0 <= y).
    { assert (H : In (0 + y) (range (p * size U))) by (eapply Permutation_in; [exact P|]; apply in_sums; eauto). apply in_range in H. lia. }
    destruct (Z.eq_dec y 0), (Z_lt_le_dec y p); auto. left. apply (sums_unique _ _ 0 y y 0 N); auto; [|lia]. apply in_range. lia. }
  assert (S2 : 2 <= size U).
  { subst. inversion F; subst. inversion W; subst. pose proof (wf_size L H4). destruct m. rewrite size_cons. cbn in *. nia. }
  assert (Ip : In p (image U)).
  { assert (H : In p (sums (range p) (image U))) by (eapply Permutation_in; [symmetry; exact P|]; apply in_range; nia).
    apply in_sums in H. destruct H as (x & y & Hx & Hy & E). apply in_range in Hx. destruct (Small y Hy); [lia|].
    replace p with y by lia. auto. }
  assert (FS : Forall (fun m => p <= snd m) U).
  { apply Forall_forall. intros [s d] Hm. cbn. rewrite Forall_forall in F. pose proof (F _ Hm) as H2. cbn in H2.
    destruct (Small d) as [D|]; auto; [eapply stride_in_image; eauto|]. exfalso. subst d.
    apply in_split in Hm. destruct Hm as (A & B & E). rewrite E in NI.
    apply (Permutation_NoDup (image_permutation _ _ (Permutation_sym (Permutation_middle A B (s, 0))))) in NI.
    change (image ((s, 0) :: A ++ B)) with (sums (multiples (s, 0)) (image (A ++ B))) in NI.
    assert (WAB : wf (A ++ B)).
    { rewrite E in W. apply (wf_permutation _ ((s, 0) :: A ++ B)) in W; [inversion W; auto|symmetry; apply Permutation_middle]. }
    apply (nodup_sums_l _ _ 0) in NI; [|apply zero_in_image; auto].
    assert (0 = 1); [|lia]. apply (nodup_map_inv _ _ 0 1 NI); cbn; auto; apply in_range; lia. }
  destruct (take_spec p U (least_stride U p Hp W FS Ip)) as (s & R & T & Q).
  assert (FR : Forall (fun m => 2 <= fst m) ((s, p) :: R)).
  { rewrite Forall_forall in *. intros x Hx. apply F. eapply Permutation_in; [symmetry|]; eauto. }
  inversion FR; subst. cbn [fst] in *.
  destruct (IH (p * s) R) as (C & E); auto.
  - apply Permutation_length in Q. cbn in Q, Hk. lia.
  - nia.
  - rewrite (size_permutation _ _ Q), size_cons in P. rewrite <- Z.mul_assoc. rewrite <- P.
    rewrite (sums_permutation _ _ _ (image_permutation _ _ Q)).
    change (image ((s, p) :: R)) with (sums (multiples (s, p)) (image R)). rewrite sums_assoc.
    replace (sums (range p) (multiples (s, p))) with (range (p * s)); [reflexivity|].
    rewrite range_mul by lia. unfold sums, multiples. cbn [fst snd]. rewrite flat_map_map. apply flat_map_ext. intros v.
    apply map_ext. intros. lia.
  - exists ((s, p) :: C). cbn [next_modes]. rewrite T, E. reflexivity.
Qed.

Lemma next_modes_chain : forall steps p L C, next_modes steps p L = Some C -> Permutation L C /\ chain p C.
Proof.
  assert (TS : forall p L m R, take p L = Some (m, R) -> snd m = p /\ Permutation L (m :: R)).
  { induction L as [|[t d] L IH]; intros m R H; [discriminate|]. cbn [take] in H. destruct (Z.eqb_spec d p).
    - injection H as <- <-. auto.
    - destruct (take p L) as [[m' R']|]; [|discriminate]. injection H as <- <-. destruct (IH m' R' eq_refl) as [E P].
      split; auto. rewrite P. apply perm_swap. }
  induction steps as [|k IH]; intros p L C H; destruct L as [|m L]; try (injection H as <-; cbn; auto; fail); [discriminate|].
  cbn [next_modes] in H. destruct (take p (m :: L)) as [[[s d] R]|] eqn:T; [|discriminate]. destruct (TS _ _ _ _ T) as [E P]. cbn in E. subst d.
  destruct (next_modes k (p * s) R) as [C'|] eqn:Q; [|discriminate]. injection H as <-. destruct (IH _ _ _ Q) as [I1 I2].
  split; [rewrite P; auto|]. cbn. auto.
Qed.

Lemma used_two : forall L, wf L -> Forall (fun m => 2 <= fst m) (used false L).
Proof.
  induction L as [|[s d] T IH]; intros W; [constructor|]. inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs.
  assert (E : used false ((s, d) :: T) = if s =? 1 then used false T else (s, d) :: used false T).
  { destruct T; [cbn; destruct (s =? 1); reflexivity|reflexivity]. }
  rewrite E. destruct (Z.eqb_spec s 1); auto. constructor; auto. cbn. lia.
Qed.

(* Identity 41: the test of the solver decides. *)
Theorem bijective_iff_chain : forall L, wf L -> (bijective L <-> exists C, stride_chain L = Some C).
Proof.
  intros L W. split.
  - intros B. apply bijective_image in B; auto. apply next_modes_found; auto; [lia|apply used_two; auto|].
    rewrite image_used, used_size, Z.mul_1_l, <- B by auto. change (range 1) with [0].
    clear. induction (image L) as [|y l IH]; [reflexivity|]. rewrite sums_cons_r. cbn [map app]. constructor. exact IH.
  - intros (C & H). apply next_modes_chain in H. destruct H. eapply chain_bijective; eauto.
Qed.
